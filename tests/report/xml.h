#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace aorta::report {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
};

// Reads XML as strictly as SVG needs it: elements nest and close, attributes are quoted and differ,
// and only the entities that XML knows appear. Fails the test otherwise.
inline std::vector<Element> parse_xml(const std::string& xml) {
  std::vector<Element> elements;
  std::vector<size_t> open;
  size_t at = 0;
  const auto bad = [&](const char* what) {
    ADD_FAILURE() << what << " at " << at << ": " << xml.substr(at, 60);
    return elements;
  };
  const auto check_text = [&](const std::string& text) {
    EXPECT_EQ(text.find('<'), std::string::npos) << text;
    for (size_t amp = text.find('&'); amp != std::string::npos; amp = text.find('&', amp + 1)) {
      const std::string entity = text.substr(amp, text.find(';', amp) - amp + 1);
      EXPECT_TRUE(entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;")
          << text;
    }
  };
  while (at < xml.size()) {
    if (xml[at] != '<') {
      const size_t end = std::min(xml.find('<', at), xml.size());
      const std::string text = xml.substr(at, end - at);
      check_text(text);
      if (!open.empty()) elements[open.back()].text += text;
      at = end;
    } else if (xml[at + 1] == '/') {
      const size_t end = xml.find('>', at);
      if (open.empty() || xml.substr(at + 2, end - at - 2) != elements[open.back()].name)
        return bad("another element is open");
      open.pop_back();
      at = end + 1;
    } else {
      if (open.empty() && !elements.empty()) return bad("a second root");
      Element element;
      const size_t name_end = xml.find_first_of(" />", at);
      element.name = xml.substr(at + 1, name_end - at - 1);
      at = name_end;
      while (xml[at] == ' ') {
        ++at;
        if (xml[at] == '/' || xml[at] == '>') break;
        const size_t equals = xml.find("=\"", at);
        const size_t quote = equals == std::string::npos ? equals : xml.find('"', equals + 2);
        if (quote == std::string::npos) return bad("no attribute");
        const std::string key = xml.substr(at, equals - at);
        const std::string value = xml.substr(equals + 2, quote - equals - 2);
        check_text(value);
        if (!element.attributes.emplace(key, value).second) return bad("an attribute twice");
        at = quote + 1;
      }
      elements.push_back(element);
      if (xml.compare(at, 2, "/>") == 0) {
        at += 2;
      } else if (xml[at] == '>') {
        open.push_back(elements.size() - 1);
        ++at;
      } else {
        return bad("an element must end");
      }
    }
  }
  if (!open.empty()) return bad("an element stays open");
  return elements;
}

}  // namespace aorta::report

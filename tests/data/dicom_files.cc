#include <dcmtk/config/osconfig.h>

#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dcrlerp.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmimage/diregist.h>  // colours, for the encoders
#include <dcmtk/dcmjpeg/djencode.h>
#include <dcmtk/dcmjpeg/djrplol.h>
#include <dcmtk/dcmjpeg/djrploss.h>
#include <dcmtk/dcmjpls/djencode.h>
#include <dcmtk/dcmjpls/djrparam.h>

#include <aorta/core/check.h>
#include <aorta/tests/data/dicom_files.h>

#include <map>
#include <memory>

namespace aorta::data {
namespace {

void require(const OFCondition& condition, const char* what) {
  check(condition.good(), "write_dicom", what, condition.text());
}

struct Syntax {
  E_TransferSyntax number;
  std::unique_ptr<DcmRepresentationParameter> parameter;
};

Syntax syntax_of(const std::string& name) {
  if (name == "implicit") return {EXS_LittleEndianImplicit, nullptr};
  if (name == "explicit") return {EXS_LittleEndianExplicit, nullptr};
  if (name == "big endian") return {EXS_BigEndianExplicit, nullptr};
  if (name == "deflated") return {EXS_DeflatedLittleEndianExplicit, nullptr};
  if (name == "rle") return {EXS_RLELossless, std::make_unique<DcmRLERepresentationParameter>()};
  if (name == "jpeg") return {EXS_JPEGProcess1, std::make_unique<DJ_RPLossy>(95)};
  if (name == "jpeg extended") return {EXS_JPEGProcess2_4, std::make_unique<DJ_RPLossy>(95)};
  if (name == "jpeg lossless") return {EXS_JPEGProcess14, std::make_unique<DJ_RPLossless>(4, 0)};
  if (name == "jpeg lossless sv1")
    return {EXS_JPEGProcess14SV1, std::make_unique<DJ_RPLossless>(1, 0)};
  check(name == "jpeg-ls", "write_dicom", "syntax must be known", name);
  return {EXS_JPEGLSLossless, std::make_unique<DJLSRepresentationParameter>(2, OFTrue)};
}

struct Encoders {
  Encoders() {
    DcmRLEEncoderRegistration::registerCodecs();
    DJEncoderRegistration::registerCodecs();
    DJLSEncoderRegistration::registerCodecs();
  }
  ~Encoders() {
    DJLSEncoderRegistration::cleanup();
    DJEncoderRegistration::cleanup();
    DcmRLEEncoderRegistration::cleanup();
  }
};
void register_encoders() { static const Encoders encoders; }

// Index i is red i, green 255 - i, blue 255 - i / 2.
void put_palette(DcmDataset& data) {
  const std::pair<DcmTagKey, DcmTagKey> colours[] = {
      {DCM_RedPaletteColorLookupTableDescriptor, DCM_RedPaletteColorLookupTableData},
      {DCM_GreenPaletteColorLookupTableDescriptor, DCM_GreenPaletteColorLookupTableData},
      {DCM_BluePaletteColorLookupTableDescriptor, DCM_BluePaletteColorLookupTableData}};
  for (int c = 0; c < 3; ++c) {
    std::vector<Uint16> table;
    for (int i = 0; i < 256; ++i)
      table.push_back(static_cast<Uint16>(257 * (c == 0 ? i : c == 1 ? 255 - i : 255 - i / 2)));
    const Uint16 descriptor[] = {256, 0, 16};
    const auto& [place, values] = colours[c];
    require(data.putAndInsertUint16Array(place, descriptor, 3), "descriptor");
    require(data.putAndInsertUint16Array(values, table.data(), 256), "table");
  }
}

void put_region(DcmDataset& data, int number, int format, int type, const Uint32 (&box)[4]) {
  DcmItem* item = nullptr;
  require(data.findOrCreateSequenceItem(DCM_SequenceOfUltrasoundRegions, item, number), "region");
  const auto u16 = [&](const DcmTagKey& tag, int value) {
    require(item->putAndInsertUint16(tag, static_cast<Uint16>(value)), "region");
  };
  u16(DCM_RegionSpatialFormat, format);
  u16(DCM_RegionDataType, type);
  const DcmTagKey edges[] = {DCM_RegionLocationMinX0, DCM_RegionLocationMinY0,
                             DCM_RegionLocationMaxX1, DCM_RegionLocationMaxY1};
  for (int i = 0; i < 4; ++i) require(item->putAndInsertUint32(edges[i], box[i]), "region");
  u16(DCM_PhysicalUnitsXDirection, format == 1 ? 3 : 4);
  u16(DCM_PhysicalUnitsYDirection, format == 1 ? 3 : 0);
  require(item->putAndInsertFloat64(DCM_PhysicalDeltaX, 0.05), "region");
  require(item->putAndInsertFloat64(DCM_PhysicalDeltaY, 0.04), "region");
}

}  // namespace

void write_dicom(const std::string& path, const Tensor& samples, const DicomSpec& spec) {
  register_encoders();
  const bool colour = spec.colours == "RGB" || spec.colours.starts_with("YBR");
  const bool halved = spec.colours == "YBR_FULL_422";
  const Tensor stored = (spec.by_plane ? samples.permute({0, 3, 1, 2}) : samples).contiguous();
  DcmFileFormat file;
  DcmDataset& data = *file.getDataset();
  const auto text = [&](const DcmTagKey& tag, const std::string& value) {
    require(data.putAndInsertString(tag, value.c_str()), "attribute");
  };
  const auto u16 = [&](const DcmTagKey& tag, int64_t value) {
    require(data.putAndInsertUint16(tag, static_cast<Uint16>(value)), "attribute");
  };
  text(DCM_SOPClassUID, UID_UltrasoundMultiframeImageStorage);
  text(DCM_SOPInstanceUID, "1.2.826.0.1.3680043.2.1143.1");
  text(DCM_Modality, "US");
  text(DCM_PatientName, "Doe^Jane");
  text(DCM_PatientID, "A-17");
  text(DCM_NumberOfFrames, std::to_string(samples.size(0)));
  u16(DCM_Rows, samples.size(1));
  u16(DCM_Columns, halved ? 2 * samples.size(2) : samples.size(2));
  u16(DCM_SamplesPerPixel, colour ? 3 : 1);
  if (colour) u16(DCM_PlanarConfiguration, spec.by_plane ? 1 : 0);
  text(DCM_PhotometricInterpretation, spec.colours);
  u16(DCM_BitsAllocated, spec.bits_allocated);
  u16(DCM_BitsStored, spec.bits_stored);
  u16(DCM_HighBit, spec.bits_stored - 1);
  u16(DCM_PixelRepresentation, 0);
  if (spec.colours == "PALETTE COLOR") put_palette(data);
  if (spec.with_region) {
    put_region(data, 0, 3, 10, {0, 45, 99, 49});
    put_region(data, 1, 1, 1, {10, 5, 89, 44});
  }
  for (const auto& [keyword, value] : spec.attributes) {
    DcmTag tag;
    require(DcmTag::findTagFromName(keyword.c_str(), tag), "keyword");
    text(tag, value);
  }
  if (spec.bits_allocated == 16) {
    const std::vector<int64_t> values = stored.to_vector<int64_t>();
    const std::vector<Uint16> words(values.begin(), values.end());
    require(data.putAndInsertUint16Array(DCM_PixelData, words.data(), words.size()), "pixels");
  } else {
    require(data.putAndInsertUint8Array(DCM_PixelData, stored.data<uint8_t>(),
                                        static_cast<unsigned long>(stored.numel())),
            "pixels");
  }
  const Syntax syntax = syntax_of(spec.syntax);
  if (syntax.parameter)
    require(data.chooseRepresentation(syntax.number, syntax.parameter.get()), "encoding");
  require(file.saveFile(path.c_str(), syntax.number), "file");
}

}  // namespace aorta::data

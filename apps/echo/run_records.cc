#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/run_records.h>
#include <aorta/data/images/png.h>

#include <fmt/format.h>

namespace aorta::echo {

RunRecords::RunRecords(const RunFolder& folder, Console& console, const State* checkpoint)
    : folder_(folder), console_(console) {
  if (checkpoint && checkpoint->contains("events.file")) {
    try {
      events_ = report::EventWriter::resume(
          folder_.file(checkpoint->get<std::string>("events.file")),
          static_cast<uint64_t>(checkpoint->get<int64_t>("events.bytes")));
      return;
    } catch (const Error& error) {
      console_.warn(std::string(error.what()) + "; a new event file begins here");
    }
  } else {
    // A run that was stopped before its first checkpoint left these; its rows come again.
    folder_.remove_starting("events.out.tfevents.");
  }
  careful([&] { events_.emplace(folder_.path()); });
}

void RunRecords::careful(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    console_.warn(std::string(error.what()) + "; the training goes on");
  } catch (const std::bad_alloc&) {
    console_.warn(
        "memory: there must be enough for a picture, got too little; the training goes on");
  }
}

void RunRecords::write_history(const History& history, const Job& job) {
  careful([&] { folder_.write("log.csv", history.csv()); });
  for (const Figure& figure : job.figures(history))
    careful([&] { folder_.write(figure.file, figure.svg); });
}

void RunRecords::write_picture(const Job& job, int64_t epoch) {
  const Tensor picture = job.picture();
  if (!picture.defined()) return;
  make_folder(folder_.file("samples"));
  data::write_png(picture, folder_.file(fmt::format("samples/epoch_{:03}.png", epoch)));
  if (events_) events_->image("samples", picture, epoch);
}

void RunRecords::write_epoch(const History& history, Job& job) {
  const int64_t epoch = history.rows.back().epoch + 1;
  if (events_) {
    const std::vector<Score>& scores = job.loop().scores();
    for (const HistoryRow& row : history.rows) {
      if (row.epoch + 1 != epoch) continue;
      const std::string phase = row.training ? "/train" : "/val";
      careful([&] {
        events_->scalar("loss" + phase, row.loss, epoch);
        for (size_t i = 0; i < scores.size(); ++i)
          events_->scalar(scores[i].tag + phase, row.scores[i], epoch);
        events_->scalar("seconds" + phase, row.seconds, epoch);
      });
    }
    careful([&] { events_->scalar("lr", job.loop().lr(), epoch); });
  }
  careful([&] { write_picture(job, epoch); });
  write_history(history, job);
}

State RunRecords::state() {
  State state;
  if (!events_) return state;
  careful([&] { events_->flush(); });
  state.set("events.file", events_->path().substr(events_->path().rfind('/') + 1));
  state.set("events.bytes", static_cast<int64_t>(events_->size_bytes()));
  return state;
}

}  // namespace aorta::echo

//===- Grid.cpp - What the threads that run a launch share ----------------===//

#include "kvq/Emulator/Machine/Grid.h"
#include "kvq/Emulator/Machine/Launch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/thread.h"
#include <algorithm>

using namespace kvq::emu;

/// What a cluster before a failed one may run beyond twice the failed one's
/// operations: it may wait for that one forever.
static constexpr uint64_t graceSteps = 1 << 20;

void ClusterResult::report(Finding finding, unsigned maxFindings) {
  failed |= finding.fatal;
  // Threads of one instruction with one fault are one finding.
  auto same = llvm::find_if(findings, [&](const Finding &other) {
    return finding.line && other.line == finding.line &&
           other.kind == finding.kind;
  });
  if (same != findings.end()) {
    same->occurrences += finding.occurrences;
    same->fatal |= finding.fatal;
    return;
  }
  findings.push_back(std::move(finding));
  failed |= findings.size() >= maxFindings;
}

/// Random schedules and the race check look at all CTAs in one order, sums of
/// floats by atomics have the order of the threads that add, and the heap gives
/// addresses in the order of requests.
static unsigned countWorkers(const Options &options, const Program &program,
                             uint64_t numClusters) {
  if (options.schedule.kind == ScheduleKind::Random || options.checks.races ||
      program.hasFloatAtomics || program.usesHeap)
    return 1;
  unsigned threads = options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count();
  return static_cast<unsigned>(
      std::min<uint64_t>(std::max(threads, 1u), numClusters));
}

Grid::Grid(GlobalMemory &memory, const Options &options, const Program &program,
           const LaunchConfig &config, Dim3 clusterShape)
    : memory(memory), options(options), program(program), config(config),
      clusterShape(clusterShape),
      numClusters(config.grid.volume() / clusterShape.volume()),
      numWorkers(countWorkers(options, program, numClusters)),
      idleAt(numWorkers) {}

bool Grid::isDeadlocked(uint64_t progressSeen) const {
  return progress.load() == progressSeen &&
         llvm::all_of(idleAt, [&](const std::atomic<uint64_t> &at) {
           uint64_t seen = at.load();
           return seen == progressSeen || seen == noCluster;
         });
}

std::optional<uint64_t> Grid::takeCluster() {
  if (isAborted() || firstFailed.load() != none)
    return std::nullopt;
  uint64_t cluster = nextCluster.load();
  while (cluster < numClusters)
    if (nextCluster.compare_exchange_weak(cluster, cluster + 1))
      return cluster;
  return std::nullopt;
}

Dim3 Grid::clusterId(uint64_t cluster) const {
  uint32_t nx = config.grid.x / clusterShape.x;
  uint32_t ny = config.grid.y / clusterShape.y;
  return {static_cast<uint32_t>(cluster % nx),
          static_cast<uint32_t>(cluster / nx % ny),
          static_cast<uint32_t>(cluster / nx / ny)};
}

void Grid::show(llvm::StringRef text) {
  if (options.print)
    options.print(text);
  else
    llvm::outs() << text;
}

void Grid::print(uint64_t cluster, ClusterResult &result,
                 llvm::StringRef text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (cluster != nextToFold) {
    result.output += text;
    return;
  }
  show(result.output);
  result.output.clear();
  show(text);
}

void Grid::fold(ClusterResult &result) {
  if (!result.output.empty())
    show(result.output);
  total.counters.add(result.counters);
  total.finishedCtas += result.finishedCtas;
  for (Finding &finding : result.findings)
    total.report(std::move(finding), options.maxFindings);
  total.failed |= result.failed;
}

void Grid::finish(uint64_t cluster, ClusterResult result,
                  uint64_t clusterSteps) {
  std::lock_guard<std::mutex> lock(mutex);
  finishedCtas += result.finishedCtas;
  if (result.failed && cluster < firstFailed.load()) {
    firstFailed = cluster;
    stepsLeft = 2 * clusterSteps + graceSteps;
  }
  waiting[cluster] = std::move(result);
  while (!waiting.empty() && waiting.begin()->first == nextToFold) {
    if (!foldingEnded)
      fold(waiting.begin()->second);
    waiting.erase(waiting.begin());
    ++nextToFold;
    if (total.failed && !isAborted()) {
      // Later clusters would not have run.
      foldingEnded = true;
      if (nextToFold <= firstFailed.load())
        firstFailed = nextToFold - 1;
    }
  }
}

Report Grid::run() {
  memory.beginLaunch();
  std::vector<std::unique_ptr<Launch>> workers;
  for (unsigned i = 0; i < numWorkers; ++i)
    workers.push_back(std::make_unique<Launch>(*this, i));
  std::vector<llvm::thread> threads;
  for (unsigned i = 1; i < numWorkers; ++i)
    threads.emplace_back([&, i] { workers[i]->run(); });
  workers[0]->run();
  for (llvm::thread &thread : threads)
    thread.join();

  for (auto &entry : waiting)
    if (!foldingEnded && entry.first <= firstFailed.load())
      fold(entry.second);
  Report report;
  report.completed = !total.failed && !isAborted();
  report.findings = std::move(total.findings);
  report.counters = std::move(total.counters);
  report.ctas = total.finishedCtas;
  report.roles = options.roles;
  TouchedBytes::Totals touched = memory.countTouched();
  report.counters.distinctReadBytes = touched.readBytes;
  report.counters.distinctWriteBytes = touched.writtenBytes;
  report.counters.distinctReadSectors = touched.readSectors;
  report.counters.distinctWriteSectors = touched.writtenSectors;
  return report;
}

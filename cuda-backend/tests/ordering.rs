//! Both edges of a submission on a CUDA device. The caller's stream has about 100 ms of work, and behind it a reduction
//! over each victim buffer; while those are queued, the buffers are handed to the decoder. No reduction may see a new
//! byte, and all that is queued after the fence's edge must see all of them. The negative control shows that the test
//! can fail: the engines heed no stream.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use isopel_conformance::backends::on_cpu;
use isopel_conformance::{corpus, cuda};
use isopel_core::{Backend, DecodeOptions, Fence, Job, Route};
use isopel_cuda::{CallerEvent, CallerStream, CudaAfter, CudaBackend, CudaOptions, CudaTarget, Ordering, cudarc};

/// Submissions of each row of the table.
const ITERATIONS: usize = 200;
/// Submissions while the caller's stream is busy once.
const AT_ONCE: usize = 5;
/// The sum of a victim's bytes before it is decoded into.
const OLD_SUM: u64 = 0;
/// How long the caller's own work takes.
const BUSY: Duration = Duration::from_millis(100);

/// The shared backend, one test at a time: another's work on the device would change what races with what.
fn alone() -> Option<(&'static CudaBackend, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Some((cuda::shared_or_explain()?, guard))
}

/// The caller's side.
struct Caller {
    stream: Arc<CudaStream>,
    spin: CudaFunction,
    add_bytes: CudaFunction,
}

impl Caller {
    fn new(backend: &CudaBackend, stream: Arc<CudaStream>) -> Self {
        let ptx = Ptx::from_src(include_str!("kernels/caller.ptx"));
        let module = backend.context().load_module(ptx).unwrap();
        let function = |name| module.load_function(name).unwrap();
        let caller = Caller { stream, spin: function("spin"), add_bytes: function("add_bytes") };
        // The first launch of a kernel loads it, which may wait for the device.
        let (data, sum) = (caller.victim(1), caller.sums(1));
        caller.spin(Duration::from_micros(1));
        caller.add(&data, &sum, 0);
        caller.stream.synchronize().unwrap();
        caller
    }

    fn after(&self) -> CudaAfter {
        CudaAfter::Stream(self.stream.clone().into())
    }

    fn caller_stream(&self) -> CallerStream {
        self.stream.clone().into()
    }

    /// Memory of the caller's, all bytes 0.
    fn victim(&self, len: usize) -> Arc<CudaSlice<u8>> {
        Arc::new(self.stream.alloc_zeros::<u8>(len).unwrap())
    }

    fn sums(&self, count: usize) -> CudaSlice<u64> {
        self.stream.alloc_zeros::<u64>(count).unwrap()
    }

    fn spin(&self, time: Duration) {
        let nanoseconds = time.as_nanos() as u64;
        let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&self.spin);
        launch.arg(&nanoseconds);
        // SAFETY: the kernel takes one 64-bit number.
        unsafe { launch.launch(one) }.unwrap();
    }

    /// Queues the addition of all bytes of `data` to sum number `index`.
    fn add(&self, data: &CudaSlice<u8>, sums: &CudaSlice<u64>, index: usize) {
        let len = data.len() as u64;
        let sum = sums.slice(index..index + 1);
        let grid = LaunchConfig { grid_dim: (64, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.stream.launch_builder(&self.add_bytes);
        launch.arg(data).arg(&len).arg(&sum);
        // SAFETY: the kernel takes an address, a length within that memory, and the address of a 64-bit sum.
        unsafe { launch.launch(grid) }.unwrap();
    }
}

/// A file and the sum of its pixels by a route, as decoded with nothing else going on.
struct Subject {
    jpeg: Arc<[u8]>,
    len: usize,
    new_sum: u64,
}

impl Subject {
    fn new(backend: &CudaBackend, jpeg: Vec<u8>, route: Route) -> Self {
        let image = backend.decode(&jpeg, &DecodeOptions::default()).unwrap();
        assert_eq!(image.report.route, route);
        let exact = on_cpu(&jpeg, &DecodeOptions::default()).unwrap();
        let difference = image.pixels.iter().zip(&exact.pixels).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(difference <= Some(3), "{route}: {difference:?}");
        let new_sum = image.pixels.iter().map(|&byte| u64::from(byte)).sum();
        assert_ne!(new_sum, OLD_SUM);
        Subject { jpeg: jpeg.into(), len: image.pixels.len(), new_sum }
    }

    fn jobs(&self, victims: &[Arc<CudaSlice<u8>>]) -> Vec<Job<CudaTarget>> {
        let job = |victim: &Arc<CudaSlice<u8>>| Job {
            jpeg: self.jpeg.clone(),
            options: DecodeOptions::default(),
            target: CudaTarget::slice(victim.clone()),
        };
        victims.iter().map(job).collect()
    }
}

/// What a row of the table found.
#[derive(Debug, Default)]
struct Found {
    submissions: usize,
    /// Submissions of which a reduction that was queued before saw a new byte.
    corrupted: usize,
    /// Submissions of which a reduction that was queued after the edge missed one.
    incomplete: usize,
    /// Submissions that were decoded while the reductions were still waiting.
    raced: usize,
    submit: Vec<Duration>,
    edge: Vec<Duration>,
}

impl Found {
    fn print(&self, row: &str) {
        let median = |times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort();
            times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        println!(
            "{row:45} corrupted {:3}/{} incomplete {:3} raced {:3} submit {:.3} ms, with edge {:.3}, at most {:.3}",
            self.corrupted,
            self.submissions,
            self.incomplete,
            self.raced,
            median(&self.submit),
            median(&self.edge),
            self.edge.iter().max().map_or(0.0, |time| time.as_secs_f64() * 1e3)
        );
    }
}

fn run(backend: &CudaBackend, caller: &Caller, subject: &Subject, batch: usize, iterations: usize) -> Found {
    let mut found = Found::default();
    while found.submissions < iterations {
        let victims: Vec<Vec<_>> =
            (0..AT_ONCE).map(|_| (0..batch).map(|_| caller.victim(subject.len)).collect()).collect();
        let (before, after) = (caller.sums(AT_ONCE * batch), caller.sums(AT_ONCE * batch));
        caller.stream.synchronize().unwrap();
        caller.spin(BUSY);
        for (index, victim) in victims.iter().flatten().enumerate() {
            caller.add(victim, &before, index);
        }
        let reduced = caller.stream.record_event(None).unwrap();
        let mut submissions = Vec::new();
        for (number, victims) in victims.iter().enumerate() {
            let jobs = subject.jobs(victims);
            let started = Instant::now();
            let submission = backend.submit(jobs, caller.after());
            found.submit.push(started.elapsed());
            submission.fence().hold_back(&caller.caller_stream()).unwrap();
            found.edge.push(started.elapsed());
            found.raced += usize::from(!reduced.is_complete());
            for (index, victim) in victims.iter().enumerate() {
                caller.add(victim, &after, number * batch + index);
            }
            submissions.push(submission);
        }
        for submission in submissions {
            let outcomes = submission.wait();
            assert!(outcomes.len() == batch && outcomes.iter().all(|outcome| outcome.result.is_ok()), "{outcomes:?}");
        }
        let sums = |sums: &CudaSlice<u64>| caller.stream.clone_dtoh(sums).unwrap();
        let (before, after) = (sums(&before), sums(&after));
        caller.stream.synchronize().unwrap();
        let wrong =
            |sums: &[u64], right: u64| sums.chunks(batch).filter(|sums| sums.iter().any(|s| *s != right)).count();
        found.corrupted += wrong(&before, OLD_SUM);
        found.incomplete += wrong(&after, subject.new_sum);
        found.submissions += AT_ONCE;
    }
    found
}

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(corpus::root().join("samples").join(name)).unwrap()
}

/// The row whose scans the CPU reads, which takes it longer than the kernels.
const PROGRESSIVE: &str = "exact, progressive";

/// Routes to go through, each with a file for it.
fn rows(backend: &CudaBackend) -> Vec<(&'static str, Route, &'static str)> {
    let all = [
        ("exact", Route::CudaExact, "photo.jpg"),
        (PROGRESSIVE, Route::CudaExact, "progressive.jpg"),
        ("engines", Route::CudaEngines, "photo.jpg"),
        ("gpu hybrid", Route::CudaGpuHybrid, "photo.jpg"),
        ("hybrid", Route::CudaHybrid, "photo.jpg"),
        ("hybrid, progressive", Route::CudaHybrid, "progressive.jpg"),
        ("cpu and upload", Route::CudaUpload, "progressive.jpg"),
    ];
    let mut there = backend.routes();
    there.extend(cuda::shared_nvjpeg().iter().flat_map(|nvjpeg| nvjpeg.routes()));
    all.into_iter().filter(|(_, route, _)| there.contains(route)).collect()
}

#[test]
fn no_route_writes_before_the_callers_work_is_done() {
    let Some((shared, _alone)) = alone() else { return };
    for (name, route, file) in rows(shared) {
        let backend = cuda::open_or_explain(&CudaOptions::default().only(route)).unwrap();
        let subject = Subject::new(&backend, sample(file), route);
        for batch in [1, 32] {
            for (kind, stream) in
                [("default stream", backend.context().default_stream()), ("side stream", cuda::stream(&backend))]
            {
                let caller = Caller::new(&backend, stream);
                // The first batch of a size allocates.
                run(&backend, &caller, &subject, batch, 1);
                let found = run(&backend, &caller, &subject, batch, ITERATIONS);
                found.print(&format!("{name}, {kind}, batch {batch}"));
                assert_eq!((found.corrupted, found.incomplete), (0, 0), "{name}, {kind}, batch {batch}: {found:?}");
                // Had the caller's work been done before, this would have shown nothing. The CPU takes longer, and
                // many images share the device's channels with the caller's stream.
                let needed = match (route, batch) {
                    (Route::CudaUpload, 1) | (Route::CudaEngines, 32) => 1,
                    (_, 1) if name == PROGRESSIVE => 1,
                    (_, 1) => found.submissions / 2,
                    _ => 0,
                };
                assert!(found.raced >= needed, "{name}, {kind}, batch {batch}: raced {}", found.raced);
            }
        }
    }
}

/// How long the fence's edge takes while the caller's stream is busy, by batch. That of one image does not wait for it.
#[test]
fn the_edge_does_not_wait_for_the_callers_work() {
    let Some((backend, _alone)) = alone() else { return };
    let subject = Subject::new(backend, sample("photo.jpg"), backend.routes()[0]);
    let small = Subject::new(backend, sample("restart.jpg"), backend.routes()[0]);
    for (kind, stream) in
        [("default stream", backend.context().default_stream()), ("side stream", cuda::stream(backend))]
    {
        let caller = Caller::new(backend, stream);
        for (subject, size) in [(&subject, "1920x1280"), (&small, "800x600")] {
            for batch in [1, 8, 16, 32] {
                run(backend, &caller, subject, batch, 1);
                let found = run(backend, &caller, subject, batch, 1);
                found.print(&format!("{}, {kind}, {size}, batch {batch}", backend.routes()[0]));
                assert!(batch > 1 || found.raced > found.submissions / 2, "{kind}, batch {batch}: {found:?}");
            }
        }
    }
}

/// The negative control: the same test without the before edge.
#[test]
fn without_the_before_edge_the_callers_reductions_are_corrupted() {
    let Some((shared, _alone)) = alone() else { return };
    for (name, route, file) in rows(shared) {
        let backend = CudaBackend::without_before_edge(&CudaOptions::default().only(route)).unwrap();
        let subject = Subject::new(&backend, sample(file), route);
        let caller = Caller::new(&backend, cuda::stream(&backend));
        let found = run(&backend, &caller, &subject, 1, ITERATIONS);
        found.print(&format!("NO EDGE: {name}"));
        // The CPU takes so long that the caller's work may be done before.
        let needed = if route == Route::CudaUpload || name == PROGRESSIVE { 1 } else { ITERATIONS * 9 / 10 + 1 };
        assert!(found.corrupted >= needed, "{name}: only {} corrupted, the test proves nothing", found.corrupted);
    }
}

/// A host barrier orders too, and costs the caller its queue.
#[test]
fn a_host_barrier_orders_and_waits() {
    let Some((_, _alone)) = alone() else { return };
    let backend = cuda::open_or_explain(&CudaOptions::default().ordering(Ordering::HostBarrier)).unwrap();
    let route = backend.routes()[0];
    let subject = Subject::new(&backend, sample("photo.jpg"), route);
    let caller = Caller::new(&backend, cuda::stream(&backend));
    let victim = caller.victim(subject.len);
    let before = caller.sums(1);
    caller.stream.synchronize().unwrap();
    caller.spin(BUSY);
    caller.add(&victim, &before, 0);
    let started = Instant::now();
    let submission = backend.submit(subject.jobs(&[victim]), caller.after());
    assert!(started.elapsed() > BUSY * 8 / 10, "{:?}", started.elapsed());
    assert!(submission.wait()[0].result.is_ok());
    assert_eq!(caller.stream.clone_dtoh(&before).unwrap(), [OLD_SUM]);
}

/// Events instead of a stream; they may be recorded again once `submit` has returned.
#[test]
fn events_are_what_a_submission_comes_after() {
    let Some((backend, _alone)) = alone() else { return };
    let subject = Subject::new(backend, sample("photo.jpg"), backend.routes()[0]);
    let callers = [(); 2].map(|()| Caller::new(backend, cuda::stream(backend)));
    for _ in 0..10 {
        let victim = callers[0].victim(subject.len);
        let sums = callers.each_ref().map(|caller| caller.sums(1));
        backend.context().synchronize().unwrap();
        let mut events = Vec::new();
        for (caller, sums) in callers.iter().zip(&sums) {
            caller.spin(BUSY / 2);
            caller.add(&victim, sums, 0);
            events.push(caller.stream.record_event(None).unwrap());
        }
        let after = events
            .iter()
            // SAFETY: the events are alive until the end of the round.
            .map(|event| unsafe { CallerEvent::from_raw(event.cu_event().cast()) })
            .collect();
        let submission = backend.submit(subject.jobs(std::slice::from_ref(&victim)), CudaAfter::Events(after));
        let other = cuda::stream(backend);
        events.iter().for_each(|event| event.record(&other).unwrap());
        assert!(submission.wait()[0].result.is_ok());
        for (caller, sums) in callers.iter().zip(&sums) {
            assert_eq!(caller.stream.clone_dtoh(sums).unwrap(), [OLD_SUM]);
        }
        let pixels = cuda::read(&callers[0].stream, &victim);
        assert_eq!(pixels.iter().map(|&byte| u64::from(byte)).sum::<u64>(), subject.new_sum);
    }
}

/// Polling and waiting with a time limit: not done while the caller's work runs, done afterwards.
#[test]
fn fences_tell_when_the_pixels_are_there() {
    let Some((backend, _alone)) = alone() else { return };
    let subject = Subject::new(backend, sample("photo.jpg"), backend.routes()[0]);
    let caller = Caller::new(backend, cuda::stream(backend));
    let victim = caller.victim(subject.len);
    caller.stream.synchronize().unwrap();
    caller.spin(BUSY);
    let submission = backend.submit(subject.jobs(std::slice::from_ref(&victim)), caller.after());
    let fence = submission.fence().clone();
    assert!(!fence.poll());
    assert!(!fence.wait_timeout(BUSY / 10));
    assert!(fence.is_queued(), "decoded while the caller's stream is busy");
    assert!(fence.wait_timeout(Duration::from_secs(10)));
    assert!(fence.poll());
    assert!(submission.wait()[0].result.is_ok());
    let pixels = cuda::read(&caller.stream, &victim);
    assert_eq!(pixels.iter().map(|&byte| u64::from(byte)).sum::<u64>(), subject.new_sum);
}

/// Neither dropped submissions nor a dropped backend leave memory half written, or free it early.
#[test]
fn what_is_dropped_in_flight_is_finished() {
    let Some((_, _alone)) = alone() else { return };
    let backend = cuda::open_or_explain(&CudaOptions::default()).unwrap();
    let subject = Subject::new(&backend, sample("photo.jpg"), backend.routes()[0]);
    let caller = Caller::new(&backend, cuda::stream(&backend));
    let victims: Vec<_> = (0..8).map(|_| caller.victim(subject.len)).collect();
    caller.stream.synchronize().unwrap();
    caller.spin(BUSY);
    let fences: Vec<_> = victims
        .iter()
        .map(|victim| backend.submit(subject.jobs(std::slice::from_ref(victim)), caller.after()).fence().clone())
        .collect();
    drop(backend);
    assert!(fences.iter().all(|fence| fence.poll()), "dropping the backend finishes its work");
    for victim in &victims {
        let pixels = cuda::read(&caller.stream, victim);
        assert_eq!(pixels.iter().map(|&byte| u64::from(byte)).sum::<u64>(), subject.new_sum);
    }
}

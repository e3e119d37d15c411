//! The CUDA backend beside nvJPEG called directly, in one process, rounds interleaved; pixels stay on the device.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use isopel_core::{
    Backend, Codestream, DecodeOptions, Job, Limits, OrientationPolicy, PixelFormat, Route, StoredRect, Submission,
};
use isopel_cuda::{CallerStream, CudaAfter, CudaBackend, CudaBuffer, CudaFence, CudaOptions, CudaTarget, ScanCheck};

use crate::raw_nvjpeg::{self, File, Mix};

/// Images in flight from the one thread that submits, in batches.
const IN_FLIGHT: usize = 4;

/// One way to decode.
enum Way {
    Raw(Mix),
    Isopel(CudaOptions),
}

/// A way that is set up.
enum Decoder {
    Raw(Mix),
    Isopel(Box<CudaBackend>),
}

struct Contestant {
    name: &'static str,
    decoder: Decoder,
}

/// Prints images per second of every contestant: the median of the rounds, and all of them.
pub fn speed(
    files: &[PathBuf],
    batches: &[usize],
    seconds: f64,
    rounds: usize,
    threads: usize,
    only: Option<&str>,
) -> Result<(), String> {
    let time = Duration::from_secs_f64(seconds);
    let files = files.iter().map(|file| read(file.as_path())).collect::<Result<Vec<File>, String>>()?;
    let opened =
        |options: &CudaOptions| CudaBackend::with_options(options).map(Box::new).map_err(|error| error.to_string());
    // The exact route needs no nvJPEG.
    let device = opened(&CudaOptions::default())?;
    println!("{}", device.device_name());
    let bytes: usize = files.iter().map(|file| file.jpeg.len()).sum();
    println!("{} files, {} bytes on average, RGB to device memory", files.len(), bytes / files.len());
    let exact = || CudaOptions::default().threads(threads);
    let engines = || exact().engines(true);
    let unchecked = || engines().scan_check(ScanCheck::Structure);
    let raw = |engine_threads, gpu_hybrid_threads| Way::Raw(Mix { engine_threads, gpu_hybrid_threads });
    let contestants = [
        ("nvJPEG, 1 engine thread", raw(1, 0)),
        ("nvJPEG, 4 engine threads", raw(4, 0)),
        ("isopel, exact", Way::Isopel(exact())),
        ("isopel, engines", Way::Isopel(engines())),
        ("isopel, engines, scans not checked", Way::Isopel(unchecked())),
        ("isopel, engines, 4 calls", Way::Isopel(engines().engine_calls(4))),
        ("isopel, engines, 4 calls, scans not checked", Way::Isopel(unchecked().engine_calls(4))),
        ("nvJPEG, 1 engine thread and 12 on the SMs", raw(1, 12)),
        ("nvJPEG, 4 engine threads and 12 on the SMs", raw(4, 12)),
        ("isopel, shared load", Way::Isopel(engines().share_load(true))),
        ("isopel, shared load, scans not checked", Way::Isopel(unchecked().share_load(true))),
    ];
    let mut taking_part = Vec::new();
    for (name, way) in contestants.into_iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only))) {
        let decoder = match way {
            Way::Raw(mix) => Decoder::Raw(mix),
            Way::Isopel(options) => Decoder::Isopel(opened(&options)?),
        };
        if let Decoder::Isopel(backend) = &decoder
            && let Some(version) = backend.nvjpeg_version()
        {
            println!("{name}: nvJPEG {version}, engines {:?}", backend.engines());
        }
        taking_part.push(Contestant { name, decoder });
    }
    let contestants = taking_part;
    for &batch in batches {
        let mut cores = vec![0.0; contestants.len()];
        let mut rates = vec![Vec::new(); contestants.len()];
        for _ in 0..rounds {
            for ((contestant, rates), cores) in contestants.iter().zip(&mut rates).zip(&mut cores) {
                let (started, busy) = (Instant::now(), crate::cpu_seconds());
                let rate = match &contestant.decoder {
                    Decoder::Raw(mix) => raw_nvjpeg::speed(&device, &files, *mix, batch, time)?,
                    Decoder::Isopel(backend) => isopel(backend, &files, batch, time)?,
                };
                *cores = (crate::cpu_seconds() - busy) / started.elapsed().as_secs_f64();
                eprintln!("    {}: {rate:.0}", contestant.name);
                rates.push(rate);
            }
        }
        println!("batch {batch}");
        for ((contestant, rates), cores) in contestants.iter().zip(rates).zip(cores) {
            let mut sorted = rates.clone();
            sorted.sort_by(f64::total_cmp);
            let all: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
            let (name, median) = (contestant.name, sorted[sorted.len() / 2]);
            println!("  {name:45} {median:9.0} images/s, {cores:4.1} busy cores   ({})", all.join(", "));
        }
    }
    Ok(())
}

/// Prints how long each kernel of the exact route takes for a batch, and for each image of it.
pub fn passes(files: &[PathBuf], batches: &[usize]) -> Result<(), String> {
    let files = files.iter().map(|file| read(file.as_path())).collect::<Result<Vec<File>, String>>()?;
    let backend = CudaBackend::new().map_err(|error| error.to_string())?;
    println!("{}, {} files", backend.device_name(), files.len());
    for &batch in batches {
        let jobs = targets(&backend, &files, batch)?.into_iter().enumerate().map(|(index, target)| Job {
            jpeg: files[index % files.len()].jpeg.clone(),
            options: DecodeOptions::default(),
            target,
        });
        let times = backend.profile(jobs.collect()).map_err(|error| error.to_string())?;
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        println!("batch {batch}");
        for (name, time) in &times {
            println!("  {name:20} {:10.1} us {:8.2} us per image", micros(*time), micros(*time) / batch as f64);
        }
        let kernels: Duration = times.iter().skip(1).map(|(_, time)| *time).sum();
        println!("  {:20} {:10.1} us {:8.2} us per image", "kernels", micros(kernels), micros(kernels) / batch as f64);
    }
    Ok(())
}

fn read(file: &Path) -> Result<File, String> {
    let jpeg = crate::read(file)?;
    let size = Codestream::parse_header(&jpeg, &Limits::default()).map_err(|error| error.to_string())?.stored_size();
    Ok(File { jpeg: jpeg.into(), width: size.width as usize, height: size.height as usize })
}

/// Images per second of one thread that keeps a few submissions in flight.
fn isopel(backend: &CudaBackend, files: &[File], batch: usize, time: Duration) -> Result<f64, String> {
    let stream = CallerStream::from(backend.context().new_stream().map_err(|error| error.to_string())?);
    let in_flight = IN_FLIGHT.max(256 / batch);
    let slots = (0..in_flight).map(|_| targets(backend, files, batch)).collect::<Result<Vec<_>, String>>()?;
    let submit = |slot: usize| {
        let jobs = slots[slot].iter().enumerate().map(|(index, target)| Job {
            jpeg: files[index % files.len()].jpeg.clone(),
            options: DecodeOptions::default(),
            target: target.clone(),
        });
        backend.submit(jobs.collect(), CudaAfter::Stream(stream.clone()))
    };
    let mut queue = VecDeque::new();
    for slot in 0..in_flight {
        queue.push_back((slot, submit(slot)));
    }
    let turn = |queue: &mut VecDeque<(usize, Submission<CudaFence>)>| {
        let Some((slot, submission)) = queue.pop_front() else { return Ok(()) };
        for outcome in submission.wait() {
            outcome.result.map_err(|error| error.to_string())?;
        }
        queue.push_back((slot, submit(slot)));
        Ok::<(), String>(())
    };
    // Fills pools, starts threads' states, and gets the clocks up.
    let warm = Instant::now();
    while warm.elapsed() < Duration::from_millis(2000) {
        turn(&mut queue)?;
    }
    let (started, mut batches) = (Instant::now(), 0);
    while started.elapsed() < time {
        turn(&mut queue)?;
        batches += 1;
    }
    let rate = (batches * batch) as f64 / started.elapsed().as_secs_f64();
    for (_, submission) in queue {
        submission.wait();
    }
    Ok(rate)
}

fn targets(backend: &CudaBackend, files: &[File], batch: usize) -> Result<Vec<CudaTarget>, String> {
    let size = |index: usize| {
        let file = &files[index % files.len()];
        (file.width * file.height * 3).next_multiple_of(256)
    };
    let buffer = CudaBuffer::new(backend, (0..batch).map(size).sum()).map_err(|error| error.to_string())?;
    let mut offset = 0;
    (0..batch)
        .map(|index| {
            let target = CudaTarget::buffer(&buffer).offset(offset).map_err(|error| error.to_string());
            offset += size(index);
            target
        })
        .collect()
}

/// Milliseconds from `submit` to pixels, and of the call itself, of a batch of one on an idle device.
pub fn latency(file: &Path) -> Result<(), String> {
    let jpeg: Arc<[u8]> = crate::read(file)?.into();
    let backend = CudaBackend::new().map_err(|error| error.to_string())?;
    let file = read(file)?;
    let target = targets(&backend, std::slice::from_ref(&file), 1)?.remove(0);
    let (mut calls, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let job = Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target: target.clone() };
        let started = Instant::now();
        let submission = backend.submit(vec![job], CudaAfter::Stream(CallerStream::DEFAULT));
        calls.push(started.elapsed());
        submission.wait();
        wholes.push(started.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    };
    let one = Mix { engine_threads: 1, gpu_hybrid_threads: 0 };
    let raw = raw_nvjpeg::speed(&backend, std::slice::from_ref(&file), one, 1, Duration::from_millis(500))?;
    println!("nvJPEG alone: {:.3} ms", 1e3 / raw);
    println!("submit {:.3} ms, pixels after {:.3} ms (medians of 200)", median(&mut calls), median(&mut wholes));
    Ok(())
}

/// What was found on one route.
#[derive(Default)]
struct RouteDifference {
    pictures: usize,
    samples: u64,
    differing: u64,
    max: u8,
    worst: Vec<(u8, String)>,
}

/// Differences from the CPU's pixels over all .jpg files of folders, as RGB, gray, and a region of each, route by route.
pub fn differences(folders: &[PathBuf]) -> Result<(), String> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| find_jpegs(folder, &mut files));
    files.sort();
    let jpegs: Vec<Arc<[u8]>> = files.iter().filter_map(|file| crate::read(file).ok()).map(Arc::from).collect();
    let only = [Route::CudaExact, Route::CudaEngines, Route::CudaGpuHybrid, Route::CudaHybrid];
    for only in only.map(Some).into_iter().chain([None]) {
        let mut options = CudaOptions::default().engines(true);
        options.only = only;
        let backend = CudaBackend::with_options(&options).map_err(|error| error.to_string())?;
        println!(
            "{}, nvJPEG {}, {}",
            backend.device_name(),
            backend.nvjpeg_version().as_deref().unwrap_or("not used"),
            match only {
                None => "all of nvJPEG's routes".to_owned(),
                Some(route) => format!("only {route}"),
            }
        );
        let mut routes: BTreeMap<String, RouteDifference> = BTreeMap::new();
        let (mut same_errors, mut other_errors) = (0, Vec::new());
        for (files, jpegs) in files.chunks(64).zip(jpegs.chunks(64)) {
            for (format, part) in [(PixelFormat::Rgb8, false), (PixelFormat::Gray8, false), (PixelFormat::Rgb8, true)] {
                let requests: Vec<_> = jpegs.iter().map(|jpeg| (jpeg.clone(), request(jpeg, format, part))).collect();
                let on_cpu = requests.iter().map(|(jpeg, options)| crate::on_cpu(jpeg, options));
                let results = on_cpu.zip(backend.decode_batch(&requests)).zip(files);
                for ((cpu, gpu), file) in results {
                    match (cpu, gpu) {
                        (Ok(cpu), Ok(gpu)) => {
                            let route = routes.entry(gpu.report.route.to_string()).or_default();
                            let what = format!("{} {format}{}", file.display(), if part { ", a region" } else { "" });
                            route.add(&cpu.pixels, &gpu.pixels, what);
                            let mut report = gpu.report;
                            report.route = cpu.report.route;
                            if report != cpu.report {
                                other_errors.push(format!("{}: the reports differ", file.display()));
                            }
                        }
                        (Err(cpu), Err(gpu)) if cpu == gpu => same_errors += 1,
                        (cpu, gpu) => {
                            let (cpu, gpu) = (cpu.err(), gpu.err());
                            other_errors.push(format!("{}: CPU {cpu:?}, CUDA {gpu:?}", file.display()));
                        }
                    }
                }
            }
        }
        for (route, found) in &mut routes {
            let share = found.differing as f64 / found.samples.max(1) as f64 * 100.0;
            println!("  {route:22} {:5} pictures, at most {:3}, {share:.4} % differ", found.pictures, found.max);
            found.worst.sort();
            found.worst.iter().rev().take(12).for_each(|(difference, what)| println!("    {difference:3} {what}"));
        }
        println!("  {same_errors} refused alike, {} otherwise", other_errors.len());
        other_errors.iter().take(10).for_each(|error| println!("    {error}"));
    }
    Ok(())
}

impl RouteDifference {
    /// Differences above this are listed with their files.
    const LISTED: u8 = 2;

    fn add(&mut self, cpu: &[u8], gpu: &[u8], what: String) {
        self.pictures += 1;
        self.samples += cpu.len() as u64;
        let differences = || cpu.iter().zip(gpu).map(|(cpu, gpu)| cpu.abs_diff(*gpu));
        self.differing += differences().filter(|&difference| difference > 0).count() as u64;
        let max = differences().max().unwrap_or(0);
        self.max = self.max.max(max);
        if max >= Self::LISTED {
            self.worst.push((max, what));
        }
    }
}

/// As stored; of the whole, or of the middle with odd edges.
fn request(jpeg: &[u8], format: PixelFormat, part: bool) -> DecodeOptions {
    let options = DecodeOptions::default().format(format).orientation(OrientationPolicy::Ignore);
    match Codestream::parse_header(jpeg, &options.limits) {
        Ok(header) if part => {
            let size = header.stored_size();
            let (x, y) = (size.width / 3, size.height / 3);
            options.region(StoredRect::new(x, y, (size.width / 2).max(1), (size.height / 2).max(1)))
        }
        _ => options,
    }
}

fn find_jpegs(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            find_jpegs(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jpg" || extension == "jpeg") {
            files.push(path);
        }
    }
}

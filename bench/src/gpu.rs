//! The wgpu backend: speed with pixels staying on the device, and equality with the CPU.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use isopel_core::{
    Backend, Codestream, DecodeOptions, DecodePlan, Error, Job, Orientation, OrientationPolicy, PixelFormat,
};
use isopel_wgpu::{BufferTarget, EntropyDecoding, WgpuAfter, WgpuBackend, WgpuOptions, WgpuTarget, wgpu};

/// Submissions of each submitter in flight: one on the GPU while the CPU prepares the next.
const IN_FLIGHT: usize = 2;

/// [`EntropyDecoding`] by its name.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Entropy {
    /// What the backend chooses.
    Auto,
    /// On the CPU.
    Cpu,
    /// In shaders, for all files that are fit for it.
    Gpu,
}

impl From<Entropy> for EntropyDecoding {
    fn from(entropy: Entropy) -> Self {
        match entropy {
            Entropy::Auto => EntropyDecoding::Auto,
            Entropy::Cpu => EntropyDecoding::Cpu,
            Entropy::Gpu => EntropyDecoding::Gpu,
        }
    }
}

/// What is measured.
pub struct Load {
    /// Images per submission.
    pub batches: Vec<usize>,
    /// Seconds for each batch size.
    pub seconds: f64,
    /// Threads for entropy decoding; 0 for as many as there are cores.
    pub threads: usize,
    /// Threads that submit, each with [`IN_FLIGHT`] submissions.
    pub submitters: usize,
    /// Where entropy decoding runs: one after the other.
    pub entropy: Vec<EntropyDecoding>,
    /// Format and orientation of all images.
    pub options: DecodeOptions,
}

pub fn options(format: &str, orientation: u16) -> Result<DecodeOptions, String> {
    let format =
        PixelFormat::ALL.into_iter().find(|known| known.name() == format).ok_or(format!("no format {format}"))?;
    let orientation = Orientation::from_exif(orientation).ok_or(format!("no orientation {orientation}"))?;
    Ok(DecodeOptions::default().format(format).orientation(OrientationPolicy::Set(orientation)))
}

pub fn speed(files: &[PathBuf], load: &Load) -> Result<(), String> {
    for &entropy in &load.entropy {
        speed_of(&open(load.threads, entropy)?, entropy, files, load)?;
    }
    Ok(())
}

fn speed_of(backend: &WgpuBackend, entropy: EntropyDecoding, files: &[PathBuf], load: &Load) -> Result<(), String> {
    let jpegs = files.iter().map(|file| crate::read(file).map(Arc::from)).collect::<Result<Vec<Arc<[u8]>>, _>>()?;
    let options = &load.options;
    println!("{}, files to buffers on the device, entropy decoding: {entropy:?}", backend.adapter_name());
    for &batch in &load.batches {
        let submitters = (0..load.submitters.max(1))
            .map(|_| {
                Ok(Submitter { backend, jpegs: &jpegs, options, targets: targets(backend, &jpegs, batch, options)? })
            })
            .collect::<Result<Vec<_>, String>>()?;
        // The first submissions fill pools and caches.
        submitters.iter().try_for_each(|submitter| submitter.run(0.0).map(drop))?;
        let (start, busy) = (Instant::now(), crate::cpu_seconds());
        let images = thread::scope(|scope| {
            let running: Vec<_> =
                submitters.iter().map(|submitter| scope.spawn(|| submitter.run(load.seconds))).collect();
            let images =
                running.into_iter().map(|thread| thread.join().map_err(|_| "a submitter panicked".to_string())?);
            images.sum::<Result<usize, String>>()
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let (rate, cores) = (images as f64 / seconds, (crate::cpu_seconds() - busy) / seconds);
        // More pictures than fit one wave would not all be measured.
        let stages = stages(backend, &jpegs, &submitters[0].targets[0], batch.min(256), options)?;
        println!("  batch {batch:4}: {rate:9.0} images/s, {cores:4.1} busy cores   {stages}");
    }
    Ok(())
}

/// A thread that submits batches.
struct Submitter<'b> {
    backend: &'b WgpuBackend,
    jpegs: &'b [Arc<[u8]>],
    options: &'b DecodeOptions,
    /// Of each submission in flight.
    targets: Vec<Vec<BufferTarget>>,
}

impl Submitter<'_> {
    /// Submits for some seconds, at least three times; gives the number of images.
    fn run(&self, seconds: f64) -> Result<usize, String> {
        let start = Instant::now();
        let mut in_flight = VecDeque::new();
        let (mut images, mut submissions) = (0, 0);
        while start.elapsed().as_secs_f64() < seconds || submissions < 3 {
            let targets = &self.targets[submissions % IN_FLIGHT];
            let jobs = jobs(self.jpegs, targets, targets.len(), self.options);
            in_flight.push_back(self.backend.submit(jobs, WgpuAfter::Queue));
            submissions += 1;
            if in_flight.len() == IN_FLIGHT {
                images += finish(in_flight.pop_front())?;
            }
        }
        while !in_flight.is_empty() {
            images += finish(in_flight.pop_front())?;
        }
        Ok(images)
    }
}

/// A backend of its own.
pub(crate) fn open(threads: usize, entropy: EntropyDecoding) -> Result<WgpuBackend, String> {
    let options = WgpuOptions::default().threads(threads).entropy(entropy);
    WgpuBackend::with_options(&options).map_err(|error| error.to_string())
}

/// One buffer for the pixels of each batch in flight, with each image's place in it.
fn targets(
    backend: &WgpuBackend,
    jpegs: &[Arc<[u8]>],
    batch: usize,
    options: &DecodeOptions,
) -> Result<Vec<Vec<BufferTarget>>, String> {
    let lengths = jpegs
        .iter()
        .map(|jpeg| {
            let codestream = Codestream::parse(jpeg, &options.limits)?;
            Ok(DecodePlan::new(&codestream, options)?.layout().required_len() as u64)
        })
        .collect::<Result<Vec<_>, Error>>()
        .map_err(|error| error.to_string())?;
    let mut offsets = vec![0u64];
    for index in 0..batch {
        offsets.push((offsets[index] + lengths[index % lengths.len()]).next_multiple_of(256));
    }
    Ok((0..IN_FLIGHT)
        .map(|_| {
            let buffer = backend.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("pixels"),
                size: offsets[batch],
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            });
            let target = |&offset: &u64| BufferTarget { buffer: buffer.clone(), offset, stride: None };
            offsets[..batch].iter().map(target).collect()
        })
        .collect())
}

fn jobs(jpegs: &[Arc<[u8]>], targets: &[BufferTarget], batch: usize, options: &DecodeOptions) -> Vec<Job<WgpuTarget>> {
    (0..batch)
        .map(|index| Job {
            jpeg: jpegs[index % jpegs.len()].clone(),
            options: *options,
            target: WgpuTarget::Buffer(targets[index].clone()),
        })
        .collect()
}

fn finish(submission: Option<isopel_core::Submission<isopel_wgpu::WgpuFence>>) -> Result<usize, String> {
    let outcomes = submission.map(|submission| submission.wait()).unwrap_or_default();
    for outcome in &outcomes {
        outcome.result.as_ref().map_err(|error| error.to_string())?;
    }
    Ok(outcomes.len())
}

/// Medians of the stages' GPU time, per image.
fn stages(
    backend: &WgpuBackend,
    jpegs: &[Arc<[u8]>],
    targets: &[BufferTarget],
    batch: usize,
    options: &DecodeOptions,
) -> Result<String, String> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let jobs = jobs(jpegs, targets, batch, options);
        match backend.profile(jobs).map_err(|error| error.to_string())? {
            Some(stages) => times.push((stages.total(), stages)),
            None => return Ok("no timestamp queries on this device".to_string()),
        }
    }
    times.sort_by_key(|&(total, _)| total);
    let (total, stages) = times[times.len() / 2];
    let per_image = |time: Duration| time.as_secs_f64() * 1e6 / batch as f64;
    let mut passes = stages.passes();
    passes.push(("all", total));
    let words: Vec<String> = passes.iter().map(|(name, time)| format!("{name} {:.2}", per_image(*time))).collect();
    Ok(format!("GPU us per image: {}", words.join(", ")))
}

pub fn equals_cpu(folders: &[PathBuf]) -> Result<(), String> {
    for entropy in [EntropyDecoding::Cpu, EntropyDecoding::Gpu] {
        println!("entropy decoding: {entropy:?}");
        equals_cpu_with(&open(0, entropy)?, folders)?;
    }
    Ok(())
}

fn equals_cpu_with(backend: &WgpuBackend, folders: &[PathBuf]) -> Result<(), String> {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| find_jpegs(folder, &mut files));
    files.sort();
    println!("{}, {} files", backend.adapter_name(), files.len());
    let progress = ProgressBar::new(files.len() as u64);
    let (mut decodes, mut bytes, mut differing, mut same_errors) = (0u64, 0u64, 0u64, 0u64);
    for file in &files {
        let jpeg = crate::read(file)?;
        for format in PixelFormat::ALL {
            for orientation in Orientation::ALL {
                let policy = OrientationPolicy::Set(orientation);
                let options = DecodeOptions::default().format(format).orientation(policy);
                match (crate::on_cpu(&jpeg, &options), backend.decode(&jpeg, &options)) {
                    (Ok(cpu), Ok(gpu)) => {
                        decodes += 1;
                        bytes += cpu.pixels.len() as u64;
                        let wrong = cpu.pixels.iter().zip(&gpu.pixels).filter(|(cpu, gpu)| cpu != gpu).count();
                        if wrong > 0 {
                            progress.suspend(|| {
                                println!("  {}: {wrong} bytes differ as {format}, {orientation:?}", file.display());
                            });
                        }
                        differing += wrong as u64;
                    }
                    (Err(cpu), Err(gpu)) if cpu == gpu => same_errors += 1,
                    (cpu, gpu) => {
                        return Err(format!("{}: cpu {:?}, gpu {:?}", file.display(), cpu.err(), gpu.err()));
                    }
                }
            }
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    println!("  {decodes} decodes, {bytes} bytes: {differing} differ; {same_errors} requests refused by both alike");
    if differing == 0 { Ok(()) } else { Err("pixels differ".to_string()) }
}

fn find_jpegs(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            find_jpegs(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jpg") {
            files.push(path);
        }
    }
}

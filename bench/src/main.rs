//! Times and memory of isopel and other JPEG decoders, interleaved in one process on one thread.

mod contestants;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "wgpu")]
mod gpu;
mod linear;
mod memory;
mod photo;
#[cfg(feature = "cuda")]
mod raw_nvjpeg;
#[cfg(feature = "libjpeg-turbo")]
mod scaled;
mod speed;
mod staging;
mod threads;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Compares isopel with other JPEG decoders: one process, one thread, rounds interleaved, medians.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Decodes files to RGB with every decoder in turn and prints megapixels per second.
    Speed {
        /// JPEG files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Rounds; each decodes every file once with every decoder.
        #[arg(long, default_value_t = 15)]
        rounds: usize,
        /// Also isopel with this many threads on each image.
        #[arg(long, default_value_t = 1)]
        threads: usize,
    },
    /// Decodes one file with several numbers of threads: one image shared by all, and as many images at once.
    Threads {
        /// A JPEG file.
        file: PathBuf,
        /// Numbers of threads; the first is what the others are compared with.
        #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
        threads: Vec<usize>,
        /// Rounds; each decodes with every number of threads.
        #[arg(long, default_value_t = 9)]
        rounds: usize,
    },
    /// Decodes files at every scale with isopel and libjpeg-turbo in turn (needs the libjpeg-turbo feature).
    #[cfg(feature = "libjpeg-turbo")]
    Scaled {
        /// JPEG files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Rounds; each decodes with both.
        #[arg(long, default_value_t = 15)]
        rounds: usize,
    },
    /// Decodes single images of different sizes on every backend of this build, and prints what each costs and how far it
    /// is off a straight line over the file's bytes.
    Linear {
        /// JPEG files of the same kind and of different sizes, such as `photo` makes.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Seconds for each file, shared by the backends.
        #[arg(long, default_value_t = 6.0)]
        seconds: f64,
        /// Only backends whose names begin with this, such as "CPU".
        #[arg(long)]
        only: Option<String>,
    },
    /// Decodes one file once in a process of its own per decoder and prints its peak memory (Linux).
    Memory {
        /// A JPEG file.
        file: PathBuf,
    },
    /// Decodes one file once with one decoder; `memory` runs this.
    #[command(hide = true)]
    DecodeOnce {
        /// The decoder's name.
        decoder: String,
        /// A JPEG file.
        file: PathBuf,
    },
    /// Decodes one file with one decoder and prints nothing, for profilers; `bench/instructions` runs this.
    Decode {
        /// The decoder's name, as `speed` prints it.
        decoder: String,
        /// A JPEG file.
        file: PathBuf,
        /// How often.
        #[arg(long, default_value_t = 1)]
        times: usize,
    },
    /// Decodes batches of files on a GPU, pixels staying there: images per second, and GPU time per stage
    /// (needs the wgpu feature).
    #[cfg(feature = "wgpu")]
    Gpu {
        /// JPEG files; a batch repeats them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Batch sizes.
        #[arg(long, value_delimiter = ',', default_value = "1,16,64,256")]
        batches: Vec<usize>,
        /// Seconds for each batch size.
        #[arg(long, default_value_t = 3.0)]
        seconds: f64,
        /// Threads for entropy decoding; 0 for as many as there are cores.
        #[arg(long, default_value_t = 0)]
        threads: usize,
        /// Threads that submit batches, each with two in flight.
        #[arg(long, default_value_t = 1)]
        submitters: usize,
        /// Where entropy decoding runs.
        #[arg(long, value_delimiter = ',', default_value = "cpu,gpu")]
        entropy: Vec<gpu::Entropy>,
        /// Format of the pixels, such as rgba8 or rgb8-planar.
        #[arg(long, default_value = "rgb8")]
        format: String,
        /// EXIF orientation that the pictures are given, 1 to 8.
        #[arg(long, default_value_t = 1)]
        orientation: u16,
    },
    /// Compares the GPU's pixels with the CPU's over all .jpg files of folders, in every format and
    /// orientation (needs the wgpu feature).
    #[cfg(feature = "wgpu")]
    GpuEqualsCpu {
        /// Folders.
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// Decodes batches on an NVIDIA GPU, pixels staying there, beside nvJPEG called directly: images per second
    /// (needs the cuda feature).
    #[cfg(feature = "cuda")]
    Cuda {
        /// JPEG files of the kind that the JPEG engines decode; a batch repeats them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Batch sizes.
        #[arg(long, value_delimiter = ',', default_value = "64,256")]
        batches: Vec<usize>,
        /// Seconds for each measurement.
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
        /// Rounds; in each, every contestant is measured once.
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// Threads of isopel's; 0 for its default.
        #[arg(long, default_value_t = 0)]
        threads: usize,
        /// Only contestants with this in their names, such as "isopel, exact".
        #[arg(long)]
        only: Option<String>,
    },
    /// Times every kernel of the CUDA backend's exact route (needs the cuda feature).
    #[cfg(feature = "cuda")]
    CudaPasses {
        /// JPEG files; a batch repeats them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Batch sizes.
        #[arg(long, value_delimiter = ',', default_value = "1,16,64,256")]
        batches: Vec<usize>,
    },
    /// Compares pixels of the CUDA backend with the CPU's over all .jpg files of folders, route by route (needs the
    /// cuda feature).
    #[cfg(feature = "cuda")]
    CudaDifferences {
        /// Folders.
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// Times single images on an NVIDIA GPU (needs the cuda feature).
    #[cfg(feature = "cuda")]
    CudaLatency {
        /// A JPEG file.
        file: PathBuf,
    },
    /// Times what a processor does for files that a GPU decodes whole: parsing, planning and staging, on one thread. Needs
    /// no GPU.
    Staging {
        /// JPEG files; a batch repeats them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Files of a batch.
        #[arg(long, default_value_t = 256)]
        batch: usize,
        /// Repetitions.
        #[arg(long, default_value_t = 15)]
        repetitions: usize,
    },
    /// Makes a photo of any size by cutting or mirroring another (needs the libjpeg-turbo feature).
    Photo(photo::Photo),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Speed { files, rounds, threads } => speed::run(&files, rounds, threads),
        Command::Threads { file, threads, rounds } => threads::run(&file, &threads, rounds),
        #[cfg(feature = "libjpeg-turbo")]
        Command::Scaled { files, rounds } => scaled::run(&files, rounds),
        Command::Linear { files, seconds, only } => linear::run(&files, seconds, only.as_deref()),
        Command::Memory { file } => memory::run(&file),
        Command::DecodeOnce { decoder, file } => memory::decode_once(&decoder, &file),
        Command::Decode { decoder, file, times } => contestants::decode(&decoder, &file, times),
        #[cfg(feature = "wgpu")]
        Command::Gpu { files, batches, seconds, threads, submitters, entropy, format, orientation } => {
            gpu::options(&format, orientation).and_then(|options| {
                gpu::speed(
                    &files,
                    &gpu::Load {
                        batches,
                        seconds,
                        threads,
                        submitters,
                        entropy: entropy.into_iter().map(Into::into).collect(),
                        options,
                    },
                )
            })
        }
        #[cfg(feature = "wgpu")]
        Command::GpuEqualsCpu { folders } => gpu::equals_cpu(&folders),
        #[cfg(feature = "cuda")]
        Command::Cuda { files, batches, seconds, rounds, threads, only } => {
            cuda::speed(&files, &batches, seconds, rounds, threads, only.as_deref())
        }
        #[cfg(feature = "cuda")]
        Command::CudaPasses { files, batches } => cuda::passes(&files, &batches),
        #[cfg(feature = "cuda")]
        Command::CudaDifferences { folders } => cuda::differences(&folders),
        #[cfg(feature = "cuda")]
        Command::CudaLatency { file } => cuda::latency(&file),
        Command::Staging { files, batch, repetitions } => staging::run(&files, batch, repetitions),
        Command::Photo(photo) => photo::run(&photo),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn on_cpu(jpeg: &[u8], options: &isopel_core::DecodeOptions) -> Result<isopel_core::Image, isopel_core::Error> {
    let codestream = isopel_core::Codestream::parse(jpeg, &options.limits)?;
    isopel_core::cpu::decode(&isopel_core::DecodePlan::new(&codestream, options)?)
}

/// Seconds that this process has spent on all cores so far; 0 where that is not known.
#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn cpu_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    // Behind the name, in hundredths: user and system time are the 12th and 13th.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return 0.0 };
    let times = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    times.sum::<f64>() / 100.0
}

fn read(file: &std::path::Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

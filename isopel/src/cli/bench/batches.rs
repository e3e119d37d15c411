//! The library's `Decoder` timed as programs use it: one image and batches, beside the CPU's batches.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use isopel::cpu::CpuBackend;
use isopel::{Backend, BackendChoice, DecodeOptions, Decoder, Error, Route};

use super::median;
use crate::cli::device::AdapterArgs;
use crate::cli::verdict::Stop;

/// Images of a batch.
const BATCH: usize = 16;

/// A backend to time, and the CPU as programs would use it instead.
pub(crate) struct Contest {
    backend: BackendChoice,
    decoder: Decoder,
    cpu: Decoder,
    /// Threads that both use.
    threads: usize,
    /// The GPU, and whether it is one.
    adapter: Option<(String, bool)>,
}

/// The times of one file, one element a round.
pub(crate) struct BatchTimes {
    backend: BackendChoice,
    threads: usize,
    adapter: Option<(String, bool)>,
    route: Route,
    one: Vec<Duration>,
    batch: Vec<Duration>,
    cpu_batch: Vec<Duration>,
}

impl Contest {
    /// `None` for the CPU alone.
    pub(crate) fn open(backend: BackendChoice, adapter: &AdapterArgs) -> Result<Option<Contest>, Stop> {
        adapter.check(&[backend])?;
        if backend == BackendChoice::Cpu {
            return Ok(None);
        }
        let cpu = Decoder::with_backend(BackendChoice::Cpu, 0)?;
        let threads = CpuBackend::new(0).capabilities().parallel_jobs;
        #[cfg(feature = "wgpu")]
        if backend == BackendChoice::Wgpu {
            let device = adapter.open_wgpu(0)?;
            let adapter = Some((device.adapter_name(), !crate::cli::device::is_software(&device)));
            return Ok(Some(Contest { backend, decoder: Decoder::with_wgpu(device), cpu, threads, adapter }));
        }
        Ok(Some(Contest { backend, decoder: adapter.open(backend, 0)?, cpu, threads, adapter: None }))
    }

    /// The first time, which is not counted: it fills pools and caches.
    pub(crate) fn warm_up(&self, bytes: &[u8], options: &DecodeOptions) -> Result<BatchTimes, Error> {
        let route = self.decoder.decode(bytes, options)?.report.route;
        time_batch(&self.decoder, bytes, options)?;
        time_batch(&self.cpu, bytes, options)?;
        let (one, batch, cpu_batch) = (Vec::new(), Vec::new(), Vec::new());
        let (backend, threads, adapter) = (self.backend, self.threads, self.adapter.clone());
        Ok(BatchTimes { backend, threads, adapter, route, one, batch, cpu_batch })
    }

    pub(crate) fn round(&self, bytes: &[u8], options: &DecodeOptions, times: &mut BatchTimes) -> Result<(), Error> {
        let start = Instant::now();
        let image = self.decoder.decode(black_box(bytes), options)?;
        times.one.push(start.elapsed());
        drop(black_box(image));
        // Who comes first finds other things in the caches.
        let cpu_first = times.one.len().is_multiple_of(2);
        if cpu_first {
            times.cpu_batch.push(time_batch(&self.cpu, bytes, options)?);
        }
        times.batch.push(time_batch(&self.decoder, bytes, options)?);
        if !cpu_first {
            times.cpu_batch.push(time_batch(&self.cpu, bytes, options)?);
        }
        Ok(())
    }
}

fn time_batch(decoder: &Decoder, bytes: &[u8], options: &DecodeOptions) -> Result<Duration, Error> {
    let start = Instant::now();
    let results = black_box(decoder.decode_batch(black_box(&[bytes; BATCH]), options));
    let time = start.elapsed();
    results.into_iter().find_map(Result::err).map_or(Ok(time), Err)
}

impl BatchTimes {
    /// Name, seconds and images of each measurement.
    fn rows(&self) -> [(String, f64, usize); 3] {
        let seconds = |times: &[Duration]| median(times.iter().map(Duration::as_secs_f64).collect());
        let backend = self.backend;
        [
            (format!("{backend}, batch 1"), seconds(&self.one), 1),
            (format!("{backend}, batch {BATCH}"), seconds(&self.batch), BATCH),
            (format!("cpu, batch {BATCH}"), seconds(&self.cpu_batch), BATCH),
        ]
    }

    pub(crate) fn to_table(&self) -> String {
        let threads = if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        let mut table = format!("  pixels in the host's memory, copying and read-back included; {threads}:\n");
        for (name, seconds, images) in self.rows() {
            let rate = if seconds > 0.0 { images as f64 / seconds } else { 0.0 };
            table += &format!("  {name:<18} {:>9.3} ms {rate:>9.1} images/s\n", seconds * 1e3);
        }
        table += &format!("  {:<18} {}", "route", self.route);
        if let Some((adapter, is_gpu)) = &self.adapter {
            table += &format!(", on {adapter}");
            if !is_gpu {
                table += "; that is software, its figures say nothing about GPUs";
            }
        }
        table.push('\n');
        table
    }

    pub(crate) fn to_json(&self) -> Value {
        let [one, batch, cpu] = self.rows().map(|(_, seconds, images)| {
            let rate = if seconds > 0.0 { images as f64 / seconds } else { 0.0 };
            json!({ "images": images, "median_ms": seconds * 1e3, "images_per_second": rate })
        });
        json!({
            "backend": self.backend.name(),
            "route": self.route.to_string(),
            "adapter": self.adapter.as_ref().map(|(name, _)| name),
            "adapter_is_software": self.adapter.as_ref().map(|(_, is_gpu)| !is_gpu),
            "threads": self.threads,
            "single": one,
            "batch": batch,
            "cpu_batch": cpu,
        })
    }
}

//! The decoder that programs keep: a backend, chosen once, and its threads.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

#[cfg(not(target_arch = "wasm32"))]
use isopel_core::cpu::CpuBackend;
use isopel_core::{Codestream, DecodeOptions, DecodePlan, Error, Image, PixelLayout, Report, Scale, cpu};

use crate::auto::GpuUse;
use crate::backend_choice::{BackendChoice, BackendUnavailable};
use crate::cuda::Cuda;
use crate::device::Device;
use crate::gpu::Gpu;

/// Decodes images, one at a time or in batches.
///
/// A decoder can be shared between threads. Its own threads start with the first batch, and
/// [`BackendChoice::Auto`] opens a GPU with the first work that is worth it; until then it costs nothing.
///
/// ```
/// use isopel::{DecodeOptions, Decoder};
///
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/");
/// # let read = |name| std::fs::read(format!("{folder}{name}"));
/// let files = [read("photo.jpg")?, b"not a picture".to_vec(), read("gray.jpg")?];
/// let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
///
/// let results = Decoder::new().decode_batch(&files, &DecodeOptions::default());
/// assert!(results[0].is_ok());
/// assert_eq!(results[1].as_ref().unwrap_err().code(), "not-jpeg");
/// assert!(results[2].is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    choice: BackendChoice,
    threads: usize,
    gpu: GpuUse,
    #[cfg(not(target_arch = "wasm32"))]
    pool: OnceLock<CpuBackend>,
}

impl Decoder {
    /// A decoder with [`BackendChoice::Auto`] and as many threads as there are cores.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// A decoder with this backend. `threads` is the number of images of a batch that are decoded at the same time,
    /// 0 for as many as there are cores; one large image by itself is decoded by all of them. A GPU's images are
    /// entropy-decoded on so many threads. On wasm32 everything runs on the calling thread.
    ///
    /// ```
    /// use isopel::{BackendChoice, Decoder};
    ///
    /// assert_eq!(Decoder::with_backend(BackendChoice::Cpu, 2)?.backend(), "cpu");
    /// # Ok::<(), isopel::BackendUnavailable>(())
    /// ```
    ///
    /// # Errors
    /// [`BackendUnavailable`] if this build or this machine does not have the backend; the source says what is
    /// missing. A named backend never gives way to another one.
    pub fn with_backend(choice: BackendChoice, threads: usize) -> Result<Self, BackendUnavailable> {
        let gpu = match choice {
            BackendChoice::Auto => GpuUse::default(),
            BackendChoice::Cpu => GpuUse::Never,
            BackendChoice::Wgpu => GpuUse::Always(Box::new(Device::Wgpu(Gpu::open(threads)?))),
            BackendChoice::Cuda => GpuUse::Always(Box::new(Device::Cuda(Cuda::open(threads)?))),
        };
        let mut decoder = Decoder::default();
        (decoder.choice, decoder.threads, decoder.gpu) = (choice, threads, gpu);
        Ok(decoder)
    }

    /// A decoder with a GPU that is open already: a certain adapter, or a device of the caller's.
    ///
    /// ```no_run
    /// use isopel::Decoder;
    /// use isopel::wgpu::{WgpuBackend, WgpuOptions};
    ///
    /// let backend = WgpuBackend::with_options(&WgpuOptions::default().adapter("radeon"))?;
    /// println!("on {}", backend.adapter_name());
    /// let decoder = Decoder::with_wgpu(backend);
    /// # Ok::<(), isopel::BackendUnavailable>(())
    /// ```
    #[cfg(all(feature = "wgpu", not(target_arch = "wasm32")))]
    pub fn with_wgpu(backend: isopel_wgpu::WgpuBackend) -> Self {
        let gpu = GpuUse::Always(Box::new(Device::Wgpu(backend.into())));
        Decoder { choice: BackendChoice::Wgpu, gpu, ..Decoder::default() }
    }

    /// A decoder with an NVIDIA GPU that is open already.
    ///
    /// ```no_run
    /// use isopel::Decoder;
    /// use isopel::cuda_backend::{CudaBackend, CudaOptions};
    ///
    /// let backend = CudaBackend::with_options(&CudaOptions::default().device(1))?;
    /// let decoder = Decoder::with_cuda(backend);
    /// # Ok::<(), isopel::BackendUnavailable>(())
    /// ```
    #[cfg(all(feature = "cuda", not(target_arch = "wasm32")))]
    pub fn with_cuda(backend: isopel_cuda::CudaBackend) -> Self {
        let gpu = GpuUse::Always(Box::new(Device::Cuda(backend.into())));
        Decoder { choice: BackendChoice::Cuda, gpu, ..Decoder::default() }
    }

    /// The name of the backend that was chosen, such as `cpu`. With `auto`, each image's
    /// [`route`](Report::route) tells which one decoded it.
    pub fn backend(&self) -> &'static str {
        self.choice.name()
    }

    /// Decodes one image into memory allocated for it: on this thread, if it is large on the decoder's threads, or on
    /// the GPU. Threads of a rayon pool decode by themselves.
    ///
    /// ```
    /// use isopel::{DecodeOptions, Decoder, Size};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/gray.jpg");
    /// let bytes = std::fs::read(path)?;
    /// let image = Decoder::new().decode(&bytes, &DecodeOptions::default())?;
    /// assert_eq!(image.size(), Size::new(640, 480));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`decode`](crate::decode), and [`Error::Backend`] if a device fails that was asked for by name.
    pub fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        if let Some(gpu) = self.gpu.for_image(bytes, options, self.threads) {
            let result = gpu.decode(bytes, options);
            if !self.gpu.gives_way(&result) {
                return result;
            }
        }
        let codestream = Codestream::parse(bytes, &options.limits)?;
        let plan = DecodePlan::new(&codestream, options)?;
        #[cfg(not(target_arch = "wasm32"))]
        if self.shares(&plan) {
            return self.pool().install(|| cpu::decode_parallel(&plan));
        }
        cpu::decode(&plan)
    }

    /// Decodes one image into the caller's memory, with `stride` bytes from one row to the next;
    /// `None` for packed rows. Bytes between the rows and after the last one are left alone.
    ///
    /// ```
    /// use isopel::{DecodeOptions, Decoder};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/gray.jpg");
    /// let bytes = std::fs::read(path)?;
    /// let mut rows = vec![0; 2048 * 480]; // 640 RGB pixels are 1920 bytes
    /// let report = Decoder::new().decode_into(&bytes, &DecodeOptions::default(), &mut rows, Some(2048))?;
    /// assert_eq!(report.layout.planes()[0].stride, 2048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misuse`] if a row does not fit into the stride or the pixels do not fit into `output`, which then is
    /// as it was; otherwise as [`decode`](crate::decode), and the contents of `output` are unspecified.
    pub fn decode_into(
        &self,
        bytes: &[u8],
        options: &DecodeOptions,
        output: &mut [u8],
        stride: Option<usize>,
    ) -> Result<Report, Error> {
        let mut item = BatchItem { jpeg: bytes, options: *options, output, stride };
        if let Some(gpu) = self.gpu.for_image(bytes, options, self.threads) {
            let result = gpu.decode_into(&mut item);
            if !self.gpu.gives_way(&result) {
                return result;
            }
        }
        let codestream = Codestream::parse(bytes, &options.limits)?;
        let plan = DecodePlan::new(&codestream, options)?;
        #[cfg(not(target_arch = "wasm32"))]
        if self.shares(&plan) {
            let layout = item.strided(plan.layout().clone())?;
            return self.pool().install(|| cpu::decode_parallel_into(&plan, &layout, item.output));
        }
        item.decode_plan(&plan)
    }

    /// Decodes many images, spread over the decoder's threads, or together on the GPU. There is one result per image, in the same order;
    /// an image that fails does not affect the others. The limits are those of each image, not of the batch.
    ///
    /// # Errors
    /// Per image, as [`decode`](crate::decode).
    pub fn decode_batch(&self, files: &[&[u8]], options: &DecodeOptions) -> Vec<Result<Image, Error>> {
        let images = if options.scale == Scale::Full { files.len() } else { 0 };
        if let Some(gpu) = self.gpu.for_batch(images, self.threads) {
            let mut results = gpu.decode_batch(files, options);
            let again = files.iter().zip(&mut results).filter(|(_, result)| self.gpu.gives_way(result)).collect();
            self.spread(again, |(bytes, result)| *result = crate::decode(bytes, options));
            return results;
        }
        self.spread(files.to_vec(), |bytes| crate::decode(bytes, options))
    }

    /// Decodes many images into the caller's memory, each with options of its own, such as the random crops of a
    /// training batch. Otherwise as [`decode_batch`](Decoder::decode_batch).
    ///
    /// ```
    /// use isopel::{BatchItem, DecodeOptions, Decoder, DisplayRect, PixelFormat};
    ///
    /// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/");
    /// # let read = |name| std::fs::read(format!("{folder}{name}"));
    /// let (photo, portrait) = (read("photo.jpg")?, read("portrait-exif6.jpg")?);
    /// let crop = |x, y| DecodeOptions::default().format(PixelFormat::Rgb8Planar).region(DisplayRect::new(x, y, 224, 224));
    ///
    /// let mut tensor = vec![0; 2 * 3 * 224 * 224];
    /// let (first, second) = tensor.split_at_mut(3 * 224 * 224);
    /// let items = vec![
    ///     BatchItem { jpeg: &photo, options: crop(500, 300), output: first, stride: None },
    ///     BatchItem { jpeg: &portrait, options: crop(0, 900), output: second, stride: None },
    /// ];
    /// assert!(Decoder::new().decode_batch_into(items).iter().all(Result::is_ok));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Per image, as [`decode_into`](Decoder::decode_into).
    pub fn decode_batch_into(&self, mut items: Vec<BatchItem<'_>>) -> Vec<Result<Report, Error>> {
        let images = items.iter().filter(|item| item.options.scale == Scale::Full).count();
        if let Some(gpu) = self.gpu.for_batch(images, self.threads) {
            let mut results = gpu.decode_batch_into(&mut items);
            let again = items.iter_mut().zip(&mut results).filter(|(_, result)| self.gpu.gives_way(result)).collect();
            self.spread(again, |(item, result)| *result = item.decode_on_cpu());
            return results;
        }
        self.spread(items, |mut item| item.decode_on_cpu())
    }

    /// Whether an image by itself is worth the decoder's threads. A thread of a pool has other images beside it.
    #[cfg(not(target_arch = "wasm32"))]
    fn shares(&self, plan: &DecodePlan) -> bool {
        const MIN_PIXELS: u64 = 4 << 20;
        self.threads != 1 && plan.file_pixels() >= MIN_PIXELS && rayon::current_thread_index().is_none()
    }

    /// Works on images on the decoder's threads.
    #[cfg(not(target_arch = "wasm32"))]
    fn spread<T: Send, R: Send>(&self, images: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        if images.is_empty() {
            return Vec::new();
        }
        // Images differ in cost by orders of magnitude, so each is a piece of work of its own.
        self.pool().install(|| images.into_par_iter().with_max_len(1).map(work).collect())
    }

    #[cfg(target_arch = "wasm32")]
    fn spread<T, R>(&self, images: Vec<T>, work: impl Fn(T) -> R) -> Vec<R> {
        images.into_iter().map(work).collect()
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn pool(&self) -> &CpuBackend {
        self.pool.get_or_init(|| CpuBackend::new(self.threads))
    }
}

/// One image of [`Decoder::decode_batch_into`].
#[derive(Debug)]
pub struct BatchItem<'a> {
    /// The file.
    pub jpeg: &'a [u8],
    /// What to decode and how.
    pub options: DecodeOptions,
    /// Where the pixels go.
    pub output: &'a mut [u8],
    /// Bytes from one row to the next; `None` for packed rows.
    pub stride: Option<usize>,
}

impl BatchItem<'_> {
    fn decode_on_cpu(&mut self) -> Result<Report, Error> {
        let codestream = Codestream::parse(self.jpeg, &self.options.limits)?;
        self.decode_plan(&DecodePlan::new(&codestream, &self.options)?)
    }

    fn decode_plan(&mut self, plan: &DecodePlan) -> Result<Report, Error> {
        cpu::decode_into(plan, &self.strided(plan.layout().clone())?, self.output)
    }

    /// The layout in `output` of pixels that lie packed like this.
    pub(crate) fn strided(&self, packed: PixelLayout) -> Result<PixelLayout, Error> {
        Ok(match self.stride {
            None => packed,
            Some(stride) => packed.with_stride(stride)?,
        })
    }
}

#[cfg(test)]
mod tests;

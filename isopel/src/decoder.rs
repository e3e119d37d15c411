//! The decoder that programs keep: a backend, chosen once, and its threads.

use std::fmt;
use std::str::FromStr;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;

#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;

#[cfg(not(target_arch = "wasm32"))]
use isopel_core::cpu::CpuBackend;
use isopel_core::{Codestream, DecodeOptions, DecodePlan, Error, Image, Report, cpu};

/// Decodes images, one at a time or in batches.
///
/// A decoder can be shared between threads. Its own threads start with the first batch; until then it costs nothing.
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
    #[cfg(not(target_arch = "wasm32"))]
    threads: usize,
    #[cfg(not(target_arch = "wasm32"))]
    pool: OnceLock<CpuBackend>,
}

impl Decoder {
    /// A decoder with [`BackendChoice::Auto`] and as many threads as there are cores.
    pub fn new() -> Self {
        Decoder::default()
    }

    /// A decoder with this backend. `threads` is the number of images of a batch that are decoded at the same time,
    /// 0 for as many as there are cores; one image is decoded by one thread. On wasm32 everything runs on the calling
    /// thread.
    ///
    /// ```
    /// use isopel::{BackendChoice, Decoder};
    ///
    /// assert_eq!(Decoder::with_backend(BackendChoice::Cpu, 2)?.backend(), "cpu");
    /// # Ok::<(), isopel::BackendUnavailable>(())
    /// ```
    ///
    /// # Errors
    /// [`BackendUnavailable`] if this build or this machine does not have the backend. A named backend never gives
    /// way to another one.
    pub fn with_backend(choice: BackendChoice, threads: usize) -> Result<Self, BackendUnavailable> {
        match choice {
            #[cfg(not(target_arch = "wasm32"))]
            BackendChoice::Auto | BackendChoice::Cpu => Ok(Decoder { threads, pool: OnceLock::new() }),
            #[cfg(target_arch = "wasm32")]
            BackendChoice::Auto | BackendChoice::Cpu => {
                let _ = threads;
                Ok(Decoder {})
            }
            BackendChoice::Wgpu | BackendChoice::Cuda => Err(BackendUnavailable { backend: choice }),
        }
    }

    /// The name of the backend that decodes, such as `cpu`.
    pub fn backend(&self) -> &'static str {
        "cpu"
    }

    /// Decodes one image on this thread into memory allocated for it.
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
    /// As [`decode`](crate::decode).
    pub fn decode(&self, bytes: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        crate::decode(bytes, options)
    }

    /// Decodes one image on this thread into the caller's memory, with `stride` bytes from one row to the next;
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
        decode_into(bytes, options, output, stride)
    }

    /// Decodes many images, spread over the decoder's threads. There is one result per image, in the same order;
    /// an image that fails does not affect the others. The limits are those of each image, not of the batch.
    ///
    /// # Errors
    /// Per image, as [`decode`](crate::decode).
    pub fn decode_batch(&self, files: &[&[u8]], options: &DecodeOptions) -> Vec<Result<Image, Error>> {
        #[cfg(not(target_arch = "wasm32"))]
        return self.pool().install(|| {
            // Images differ in cost by orders of magnitude, so each is a piece of work of its own.
            files.par_iter().with_max_len(1).map(|bytes| crate::decode(bytes, options)).collect()
        });
        #[cfg(target_arch = "wasm32")]
        return files.iter().map(|bytes| crate::decode(bytes, options)).collect();
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
    pub fn decode_batch_into(&self, items: Vec<BatchItem<'_>>) -> Vec<Result<Report, Error>> {
        let decode = |item: BatchItem<'_>| decode_into(item.jpeg, &item.options, item.output, item.stride);
        #[cfg(not(target_arch = "wasm32"))]
        return self.pool().install(|| items.into_par_iter().with_max_len(1).map(decode).collect());
        #[cfg(target_arch = "wasm32")]
        return items.into_iter().map(decode).collect();
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

/// Which backend a [`Decoder`] uses. The names are `auto`, `cpu`, `wgpu` and `cuda`.
///
/// ```
/// use isopel::BackendChoice;
///
/// assert_eq!("cpu".parse(), Ok(BackendChoice::Cpu));
/// assert_eq!(BackendChoice::default().to_string(), "auto");
/// assert!("gpu".parse::<BackendChoice>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendChoice {
    /// The fastest one that is present; today that is the CPU.
    #[default]
    Auto,
    /// isopel's own decoder on the CPU; exact.
    Cpu,
    /// Any GPU, through wgpu. Not built in yet.
    Wgpu,
    /// NVIDIA GPUs, through nvJPEG. Not built in yet.
    Cuda,
}

impl BackendChoice {
    /// All choices.
    pub const ALL: [BackendChoice; 4] =
        [BackendChoice::Auto, BackendChoice::Cpu, BackendChoice::Wgpu, BackendChoice::Cuda];

    /// The name used on the command line and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            BackendChoice::Auto => "auto",
            BackendChoice::Cpu => "cpu",
            BackendChoice::Wgpu => "wgpu",
            BackendChoice::Cuda => "cuda",
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BackendChoice {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        let known = BackendChoice::ALL.into_iter().find(|choice| choice.name() == name);
        known.ok_or_else(|| UnknownBackend { name: name.to_owned() })
    }
}

/// A name that is no [`BackendChoice`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend named '{name}'; the names are auto, cpu, wgpu and cuda")]
pub struct UnknownBackend {
    /// The name given.
    pub name: String,
}

/// A backend that this build does not have.
///
/// ```
/// use isopel::{BackendChoice, Decoder};
///
/// let error = Decoder::with_backend(BackendChoice::Cuda, 0).unwrap_err();
/// assert_eq!(error.to_string(), "the cuda backend is not built in yet; use auto or cpu");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the {backend} backend is not built in yet; use auto or cpu")]
pub struct BackendUnavailable {
    /// The backend asked for.
    pub backend: BackendChoice,
}

fn decode_into(
    bytes: &[u8],
    options: &DecodeOptions,
    output: &mut [u8],
    stride: Option<usize>,
) -> Result<Report, Error> {
    let codestream = Codestream::parse(bytes, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    match stride {
        None => cpu::decode_into(&plan, plan.layout(), output),
        Some(stride) => cpu::decode_into(&plan, &plan.layout().clone().with_stride(stride)?, output),
    }
}

#[cfg(test)]
mod tests;

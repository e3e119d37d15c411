//! Which backends are here, as one list that every test goes through.
//!
//! `ISOPEL_REQUIRE=cpu,wgpu,cuda` makes the absence of a named backend a failure. A backend that is absent and not
//! required is reported as not run, with the reason, by the `summary` test and command.

mod cuda;
mod one_buffer;
mod wgpu;

pub use self::cuda::cuda_alone;
pub use self::wgpu::{decode_on_gpu, wgpu_both_ways};

use std::sync::Arc;

use isopel_core::cpu::{self, CpuBackend, CpuFence, HostBuffer, HostTarget};
use isopel_core::subsequences::StagedPlan;
use isopel_core::{Backend, Codestream, DecodeOptions, DecodePlan, Error, Image, Job, Scale};

/// What buffers hold before a decode: a byte that was not written shows.
pub const SENTINEL: u8 = 0xA5;

/// A backend as the tests see it: files in, pixels of the host out.
pub trait ConformanceBackend: Send + Sync {
    /// The name in tables, messages and `ISOPEL_REQUIRE`.
    fn name(&self) -> &'static str;

    /// What it runs on, for the summary.
    fn describe(&self) -> String;

    /// What a large test may ask of it.
    fn budget(&self) -> Budget;

    /// Whether it is to decode the entropy of such a plan on a device, and does unless something is flagged there.
    fn decodes_entropy_of(&self, _plan: &DecodePlan) -> bool {
        false
    }

    /// Decodes one file into memory that held [`SENTINEL`].
    ///
    /// # Errors
    /// Whatever the backend says.
    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error>;

    /// Decodes files as one batch, into memory that held [`SENTINEL`]. One result per file, in their order.
    fn decode_batch(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>>;

    /// Decodes files in the way that is cheapest for many small ones.
    fn decode_all(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>> {
        files.chunks(64).flat_map(|files| self.decode_batch(files)).collect()
    }
}

/// What a test that decodes every file in every way may cost. Cases are picked at random if there are more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Decodes.
    pub cases: usize,
    /// Pixels of the largest file that is decoded in many ways.
    pub pixels: u64,
    /// Pixels of the largest file that is decoded once.
    pub real_pixels: u64,
}

impl Budget {
    /// All files of the corpus but the very large, in all ways.
    pub const ALL: Budget = Budget { cases: usize::MAX, pixels: 700 * 700, real_pixels: u64::MAX };

    /// The cases of one of `files` files.
    pub fn per_file(self, files: usize) -> usize {
        self.cases.div_ceil(files)
    }
}

/// A backend, or why it is not here.
pub struct Presence {
    /// The backend's name.
    pub name: &'static str,
    /// The backend, or the reason.
    pub backend: Result<Box<dyn ConformanceBackend>, String>,
}

/// The names of all backends, in the order of [`all`].
const NAMES: [&str; 4] = ["cpu", "wgpu", "cuda", "nvjpeg"];

/// All backends there are, present or not. A new backend is one more name and row.
pub fn all() -> Vec<Presence> {
    let backends: [Result<Box<dyn ConformanceBackend>, String>; NAMES.len()] =
        [Ok(Box::new(Cpu::new())), wgpu::open(), cuda_alone(), cuda::open_nvjpeg()];
    NAMES.into_iter().zip(backends).map(|(name, backend)| Presence { name, backend }).collect()
}

/// The backends to test.
///
/// # Panics
/// If `ISOPEL_REQUIRE` names one that is absent or unknown.
pub fn present() -> Vec<Box<dyn ConformanceBackend>> {
    let all = all();
    if let Err(error) = Required::from_env().and_then(|required| required.check(&all)) {
        panic!("{error}");
    }
    all.into_iter().filter_map(|presence| presence.backend.ok()).collect()
}

/// What `ISOPEL_REQUIRE` names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Required {
    names: Vec<String>,
}

/// Why a requirement is not met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequireError {
    /// No backend has this name.
    #[error("ISOPEL_REQUIRE names {name:?}; known names are: {}, {}, {}", known.join(", "), Required::CORPUS, Required::WEB)]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The backend is not here.
    #[error("ISOPEL_REQUIRE names {name}, which did not run: {reason}")]
    Absent {
        /// The backend.
        name: &'static str,
        /// Why it is absent.
        reason: String,
    },
}

impl Required {
    /// The name by which `ISOPEL_REQUIRE` asks for the folder of real files.
    pub const CORPUS: &str = "corpus";
    /// The name by which it asks for the npm package's and the demo's tests; they are not run by Cargo, and
    /// `run-tests` answers for them.
    pub const WEB: &str = "web";

    /// Reads `ISOPEL_REQUIRE`; nothing is required if it is not set.
    ///
    /// # Errors
    /// [`RequireError::Unknown`] as [`Required::parse`].
    pub fn from_env() -> Result<Required, RequireError> {
        Required::parse(&std::env::var("ISOPEL_REQUIRE").unwrap_or_default())
    }

    /// Reads a list of names with commas between them.
    ///
    /// # Errors
    /// [`RequireError::Unknown`] for a name that nothing has: a misspelt requirement must not be met silently.
    pub fn parse(list: &str) -> Result<Required, RequireError> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(|name| {
            if [Required::CORPUS, Required::WEB].contains(&name) || NAMES.contains(&name) {
                Ok(name.to_owned())
            } else {
                Err(RequireError::Unknown { name: name.to_owned(), known: NAMES.to_vec() })
            }
        });
        Ok(Required { names: names.collect::<Result<_, _>>()? })
    }

    /// Whether this name is required.
    pub fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|required| required == name)
    }

    /// Checks the required backends.
    ///
    /// # Errors
    /// [`RequireError::Absent`] for the first that is not here.
    pub fn check(&self, backends: &[Presence]) -> Result<(), RequireError> {
        for presence in backends.iter().filter(|presence| self.contains(presence.name)) {
            if let Err(reason) = &presence.backend {
                return Err(RequireError::Absent { name: presence.name, reason: reason.clone() });
            }
        }
        Ok(())
    }
}

/// The CPU backend's row.
struct Cpu {
    batches: CpuBackend,
}

impl Cpu {
    fn new() -> Self {
        Cpu { batches: CpuBackend::new(4) }
    }
}

impl ConformanceBackend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        "always present".to_owned()
    }

    fn budget(&self) -> Budget {
        Budget::ALL
    }

    fn decode(&self, jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
        on_cpu(jpeg, options)
    }

    fn decode_batch(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>> {
        decode_on(&self.batches, files)
    }

    fn decode_all(&self, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>> {
        files.iter().map(|(jpeg, options)| on_cpu(jpeg, options)).collect()
    }
}

/// Decodes one file on this thread of the CPU into memory that held [`SENTINEL`]: what all others are compared with.
///
/// # Errors
/// Whatever the decoder says.
pub fn on_cpu(jpeg: &[u8], options: &DecodeOptions) -> Result<Image, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    let plan = DecodePlan::new(&codestream, options)?;
    let mut pixels = vec![SENTINEL; plan.layout().required_len()];
    let report = cpu::decode_into(&plan, plan.layout(), &mut pixels)?;
    Ok(Image { pixels, report })
}

/// Whether the data of a plan can be laid out for entropy decoding on a device.
fn is_fit(plan: &DecodePlan) -> bool {
    let mut data = vec![0; StagedPlan::max_data_len(plan)];
    plan.scale() == Scale::Full && StagedPlan::stage(plan, 128, &mut data).is_ok()
}

/// Decodes files as one submission to a CPU backend, each into a buffer of its own.
pub fn decode_on(backend: &CpuBackend, files: &[(Arc<[u8]>, DecodeOptions)]) -> Vec<Result<Image, Error>> {
    let buffers: Vec<HostBuffer> = files.iter().map(|(jpeg, options)| buffer_for(jpeg, options)).collect();
    let jobs = files.iter().zip(&buffers).map(|((jpeg, options), buffer)| Job {
        jpeg: jpeg.clone(),
        options: *options,
        target: HostTarget::packed(buffer.clone()),
    });
    let outcomes = backend.submit(jobs.collect(), vec![CpuFence::finished()]).wait();
    assert_eq!(outcomes.len(), files.len(), "one outcome per job");
    let images = outcomes.into_iter().zip(buffers).enumerate().map(|(index, (outcome, buffer))| {
        assert_eq!(outcome.index, index, "outcomes come in the jobs' order");
        outcome.result.map(|report| Image { pixels: std::mem::take(&mut *buffer.lock()), report })
    });
    images.collect()
}

/// A buffer of the right size, or an empty one if the file has no plan.
fn buffer_for(jpeg: &[u8], options: &DecodeOptions) -> HostBuffer {
    HostBuffer::new(vec![SENTINEL; packed_len(jpeg, options).unwrap_or(0)])
}

/// Bytes of the packed pixels.
///
/// # Errors
/// If the file has no plan.
pub fn packed_len(jpeg: &[u8], options: &DecodeOptions) -> Result<usize, Error> {
    let codestream = Codestream::parse(jpeg, &options.limits)?;
    Ok(DecodePlan::new(&codestream, options)?.layout().required_len())
}

//! What comes before a wave: jobs are looked at - parsed, planned - and the data of those that the kernels take is staged in
//! pinned memory, many at a time on the backend's threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use isopel_core::subsequences::Synchronisation;
use isopel_core::{Codestream, DecodePlan, Error};
use rayon::prelude::*;

use super::ExactDecoder;
use super::prepare::StagedImage;
use super::tables::KnownTables;
use crate::driver::PinnedMemory;
use crate::pool::CpuJob;
use crate::staging::Lease;
use crate::worker::Worker;

/// Bytes of files that are worth handing to another thread: a tenth of a millisecond of its time, of which falling asleep
/// again takes some.
const TASK_BYTES: usize = 512 << 10;

/// A job with its staged data, and where that begins in the pinned memory.
pub(super) type StagedJob = (usize, (CpuJob, StagedImage));

/// A job that was looked at.
enum Looked {
    /// It has failed.
    Failed,
    /// It is one for another route.
    Other(CpuJob),
    Staged(Box<(CpuJob, StagedImage)>),
}

/// Bytes of a subsequence, by bytes of the files that are decoded together: few would leave a device idle, and many short
/// ones take more work.
fn subsequence_bytes(files: usize) -> u32 {
    match files {
        0..Synchronisation::CANDIDATES_DATA => 48,
        Synchronisation::CANDIDATES_DATA..0x80_0000 => 64,
        _ => 128,
    }
}

/// How many of so many jobs, of so many bytes in all, one thread looks at.
fn jobs_of_task(jobs: usize, bytes: usize) -> usize {
    (TASK_BYTES * jobs).div_ceil(bytes.max(1)).max(1)
}

/// Room for a file's staged data. Restart markers make room for the alignment of what follows, or nearly.
pub(super) fn staged_room(file: usize) -> usize {
    (file + file / 16 + 256).next_multiple_of(16)
}

impl ExactDecoder {
    /// Gives jobs the pinned memory that they are staged in, or gives them back if there is none.
    pub(super) fn with_room(&self, jobs: Vec<CpuJob>) -> Result<(Vec<CpuJob>, Lease<PinnedMemory>), Vec<CpuJob>> {
        match self.staged.lease(jobs.iter().map(|job| staged_room(job.jpeg.len())).sum()) {
            Ok(staged) => Ok((jobs, staged)),
            Err(_) => Err(jobs),
        }
    }

    /// Looks at jobs and stages them one behind the other; also gives those that the kernels do not take.
    pub(super) fn stage(
        &self,
        worker: &Worker,
        jobs: Vec<CpuJob>,
        staged: &mut Lease<PinnedMemory>,
    ) -> (Vec<StagedJob>, Vec<CpuJob>) {
        let bytes: usize = jobs.iter().map(|job| job.jpeg.len()).sum();
        let subsequence_bytes = subsequence_bytes(bytes);
        let mut slots = Vec::with_capacity(jobs.len());
        let mut rest = staged.bytes_mut();
        let mut first_byte = 0;
        for job in &jobs {
            let room = staged_room(job.jpeg.len());
            let (slot, after) = rest.split_at_mut(room);
            slots.push((first_byte, slot));
            first_byte += room;
            rest = after;
        }
        let look = |(job, (first_byte, slot))| (first_byte, look_at(job, subsequence_bytes, slot, &self.known_tables));
        let looked: Vec<(usize, Looked)> = match jobs_of_task(jobs.len(), bytes) {
            // Nothing is gained by another thread.
            all if all >= jobs.len() => jobs.into_iter().zip(slots).map(look).collect(),
            some => worker.preparing.install(|| jobs.into_par_iter().zip(slots).with_min_len(some).map(look).collect()),
        };
        let (mut others, mut images) = (Vec::new(), Vec::with_capacity(looked.len()));
        for (first_byte, looked) in looked {
            match looked {
                Looked::Failed => {}
                Looked::Other(job) => others.push(job),
                Looked::Staged(staged) => images.push((first_byte, *staged)),
            }
        }
        (images, others)
    }
}

/// Parses, plans and stages.
fn look_at(job: CpuJob, subsequence_bytes: u32, slot: &mut [u8], known: &KnownTables) -> Looked {
    let staged = || {
        let codestream = Codestream::parse(&job.jpeg, &job.options.limits)?;
        let plan = DecodePlan::new(&codestream, &job.options)?;
        let layout = job.target.layout(plan.layout())?;
        Ok::<_, Error>(StagedImage::new(&plan, &layout, subsequence_bytes, slot, known))
    };
    let staged = catch_unwind(AssertUnwindSafe(staged)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map_or("a panic without a message", String::as_str);
        Err(Error::Internal(message.to_owned()))
    });
    match staged {
        Err(error) => {
            job.ticket.fail(error);
            Looked::Failed
        }
        Ok(None) => Looked::Other(job),
        Ok(Some(image)) => Looked::Staged(Box::new((job, image))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_enough_to_do() {
        let (small, large) = (36 << 10, 213 << 10);
        assert_eq!(jobs_of_task(256, 256 * small), 15);
        assert_eq!(jobs_of_task(256, 256 * large), 3);
        assert_eq!(jobs_of_task(2, 20 << 20), 1);
        assert!(jobs_of_task(8, 8 * small) >= 8, "all on the thread that asks");
        assert!(jobs_of_task(1, 0) >= 1);
    }
}

//! Files whose scans the kernels do not read: progressive ones, and what is not as it should be. The CPU reads their
//! coefficients, which are uploaded packed; all from there on is done by the kernels.

use std::sync::{Arc, Mutex, PoisonError};

use isopel_core::{
    Codestream, CoefficientReport, DecodePlan, Error, PackedCoefficients, Scale, contained, pack_coefficients,
};

use super::ExactDecoder;
use super::prepare::StagedImage;
use super::stage::StagedJob;
use crate::driver::PinnedMemory;
use crate::pool::CpuJob;
use crate::staging::Lease;
use crate::worker::Worker;

/// Memory of coefficients that is used again: fresh pages for every picture take longer to get than to fill.
#[derive(Debug, Default)]
pub(super) struct SpareCoefficients(Mutex<Vec<PackedCoefficients>>);

impl SpareCoefficients {
    /// Kept at most.
    const KEPT: usize = 32;
    /// Words of the largest that is kept.
    const LARGEST: usize = 4 << 20;

    /// Memory to pack into; what it holds has no meaning.
    fn take(&self) -> PackedCoefficients {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put(&self, packed: PackedCoefficients) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < Self::KEPT && packed.capacity() <= Self::LARGEST {
            kept.push(packed);
        }
    }
}

impl ExactDecoder {
    /// Hands a job to the threads that decode on the CPU, which read its scans.
    pub(crate) fn spawn_packing(worker: &Arc<Worker>, job: CpuJob) {
        let worker = worker.clone();
        worker.clone().decoding.spawn_fifo(move || match &worker.exact {
            Some(exact) => exact.decode_from_coefficients(&worker, job),
            None => worker.decode_on_cpu(job),
        });
    }

    /// Reads a job's scans and queues the rest. What can't be done so is decoded on the CPU.
    fn decode_from_coefficients(&self, worker: &Arc<Worker>, job: CpuJob) {
        let mut packed = self.spare_coefficients.take();
        let staged = contained(|| self.pack_and_stage(&job, &mut packed));
        // What a panic was changing is not used again.
        if !matches!(staged, Err(Error::Internal(_))) {
            self.spare_coefficients.put(packed);
        }
        match staged {
            Err(error) => job.ticket.fail(error),
            Ok(None) => worker.decode_on_cpu(job),
            Ok(Some((staged, image))) => {
                let flight = job.ticket.flight().clone();
                let images: Vec<StagedJob> = vec![(0, (job, image))];
                let uploaded = self.decode(worker, &flight, self.lay_out(&images), images, &staged);
                staged.guard(uploaded.into_iter().collect());
            }
        }
    }

    /// `None` if the kernels do not take the image, or there is no memory for it.
    fn pack_and_stage(
        &self,
        job: &CpuJob,
        packed: &mut PackedCoefficients,
    ) -> Result<Option<(Lease<PinnedMemory>, StagedImage)>, Error> {
        let codestream = Codestream::parse(&job.jpeg, &job.options.limits)?;
        let plan = DecodePlan::new(&codestream, &job.options)?;
        let layout = job.target.layout(plan.layout())?;
        if plan.scale() != Scale::Full {
            return Ok(None);
        }
        let found: CoefficientReport = pack_coefficients(&plan, packed)?;
        let len = StagedImage::packed_len(packed);
        let Ok(mut staged) = self.staged.lease(len) else { return Ok(None) };
        match StagedImage::from_packed(&plan, &layout, packed, found, &mut staged.bytes_mut()[..len]) {
            Some(image) => Ok(Some((staged, image))),
            None => {
                staged.guard(Vec::new());
                Ok(None)
            }
        }
    }
}

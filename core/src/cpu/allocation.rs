//! Memory for pixels.

use crate::error::Error;
use crate::memory::ask_for_huge_pages;
use crate::plan::DecodePlan;

/// Memory for a plan's packed pixels, within its limits.
pub(super) fn allocate(plan: &DecodePlan) -> Result<Vec<u8>, Error> {
    let len = plan.layout().required_len();
    plan.limits().check_memory(plan.working_memory().saturating_add(len as u64))?;
    let mut pixels = vec![0; len];
    ask_for_huge_pages(&mut pixels);
    Ok(pixels)
}

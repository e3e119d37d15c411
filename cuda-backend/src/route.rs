//! Which code decodes an image: a pure function of the plan and of what is there. Whatever nvJPEG gets wrong, or our own
//! parse can't vouch for, is decoded by isopel on the CPU.
//!
//! Input: a plan, capabilities. Output: the first of nvJPEG's routes that takes it, or why none may.

use isopel_core::{CodingProcess, ColorModel, DecodePlan, PixelFormat, Route, Sampling, Scale, Warning};

use crate::nvjpeg::SourcePixels;

/// What there is to decode with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteSupport {
    /// JPEG engines.
    pub(crate) engines: bool,
    /// nvJPEG with entropy decoding on the SMs.
    pub(crate) gpu_hybrid: bool,
    /// nvJPEG with entropy decoding on the CPU.
    pub(crate) hybrid: bool,
}

impl RouteSupport {
    #[cfg(test)]
    pub(crate) const ALL: RouteSupport = RouteSupport { engines: true, gpu_hybrid: true, hybrid: true };

    /// The fastest route for sequential files.
    fn sequential(&self) -> Option<NvjpegRoute> {
        if self.engines { Some(NvjpegRoute::Engines) } else { self.software() }
    }

    /// The fastest without engines.
    fn software(&self) -> Option<NvjpegRoute> {
        match (self.gpu_hybrid, self.hybrid) {
            (true, _) => Some(NvjpegRoute::GpuHybrid),
            (false, true) => Some(NvjpegRoute::Hybrid),
            (false, false) => None,
        }
    }

    /// For progressive files: GPU_HYBRID reads them on the CPU too.
    fn progressive(&self) -> Option<NvjpegRoute> {
        self.hybrid.then_some(NvjpegRoute::Hybrid)
    }
}

/// A route of nvJPEG's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NvjpegRoute {
    /// Batches on the engines.
    Engines,
    /// Entropy decoding on the SMs.
    GpuHybrid,
    /// Entropy decoding on the CPU.
    Hybrid,
}

impl NvjpegRoute {
    pub(crate) fn report(self) -> Route {
        match self {
            NvjpegRoute::Engines => Route::CudaEngines,
            NvjpegRoute::GpuHybrid => Route::CudaGpuHybrid,
            NvjpegRoute::Hybrid => Route::CudaHybrid,
        }
    }

    /// Where an image goes whose decoding failed here; `None`: to the CPU.
    pub(crate) fn next(self, support: &RouteSupport) -> Option<NvjpegRoute> {
        if self == NvjpegRoute::Engines { support.software() } else { None }
    }
}

/// How nvJPEG decodes an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) route: NvjpegRoute,
    pub(crate) pixels: SourcePixels,
}

/// Why the CPU decodes an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CpuReason {
    /// Pixels that nvJPEG does not give, or not as libjpeg does.
    Format,
    /// A smaller scale, which nvJPEG has in some forms only and not with libjpeg's arithmetic.
    Scale,
    /// nvJPEG takes RGB for YCbCr, and YCCK with subsampled K goes wrong.
    Color,
    /// Sampling that is not 4:4:4, 4:2:2, 4:2:0, 4:4:0 or gray in its plain form.
    Sampling,
    /// libjpeg replicates narrow chroma, nvJPEG interpolates it.
    NarrowChroma,
    /// A side longer than the engines take.
    Large,
    /// The parse found something untidy.
    Untidy,
    /// Quantizer steps that 8 bits do not hold, that are 0, or that are missing.
    Quantizers,
    /// Huffman tables beyond what the process allows.
    HuffmanTables,
    /// Scans in a form that nvJPEG is not known to decode right.
    Scans,
    /// Restart markers missing or out of order, or in progressive scans.
    Restarts,
    /// No route of nvJPEG's is there for it.
    NoRoute,
}

/// The longest side that nvJPEG gets.
const MAX_SIDE: u32 = 16_000;

/// Chooses nvJPEG's route for a plan, or says why the CPU has to decode it.
pub(crate) fn choose(plan: &DecodePlan, support: &RouteSupport) -> Result<Choice, CpuReason> {
    let codestream = plan.codestream();
    let frame = codestream.frame();
    if plan.scale() != Scale::Full {
        return Err(CpuReason::Scale);
    }
    let pixels = match (plan.format(), codestream.color_model()) {
        (PixelFormat::Gray8, ColorModel::YCbCr | ColorModel::Gray) => SourcePixels::Luma,
        (PixelFormat::ComponentPlanes | PixelFormat::Cmyk8, _) => return Err(CpuReason::Format),
        (_, ColorModel::YCbCr | ColorModel::Gray) => SourcePixels::Rgb,
        _ => return Err(CpuReason::Color),
    };
    let wide = check_sampling(plan)?;
    if wide && frame.plane_size(1).width <= 2 {
        return Err(CpuReason::NarrowChroma);
    }
    if frame.size.width > MAX_SIDE || frame.size.height > MAX_SIDE {
        return Err(CpuReason::Large);
    }
    if !codestream.warnings().iter().all(is_harmless) || plan.smooths_blocks() || !codestream.is_complete() {
        return Err(CpuReason::Untidy);
    }
    for index in 0..frame.components.len() {
        let table = codestream.quant_table(index).ok_or(CpuReason::Quantizers)?;
        if !table.values.iter().all(|step| (1..=255).contains(step)) {
            return Err(CpuReason::Quantizers);
        }
    }
    let sequential = frame.process != CodingProcess::Progressive;
    if sequential && (codestream.scans().len() != 1 || codestream.scans()[0].components.len() != frame.components.len())
    {
        return Err(CpuReason::Scans);
    }
    check_scans(plan, sequential)?;
    let route = if sequential { support.sequential() } else { support.progressive() };
    Ok(Choice { route: route.ok_or(CpuReason::NoRoute)?, pixels })
}

/// Whether chroma is half as wide as luma.
fn check_sampling(plan: &DecodePlan) -> Result<bool, CpuReason> {
    match plan.codestream().frame().components.as_slice() {
        [_] => Ok(false),
        [luma, first, second] => {
            let one = Sampling { horizontal: 1, vertical: 1 };
            let plain = first.sampling == one && second.sampling == one;
            let Sampling { horizontal, vertical } = luma.sampling;
            if plain && horizontal <= 2 && vertical <= 2 { Ok(horizontal == 2) } else { Err(CpuReason::Sampling) }
        }
        _ => Err(CpuReason::Sampling),
    }
}

/// Huffman tables and restart markers.
fn check_scans(plan: &DecodePlan, sequential: bool) -> Result<(), CpuReason> {
    let codestream = plan.codestream();
    let allowed = if sequential { 2 } else { 4 };
    for scan in codestream.scans() {
        for class in [0, 1] {
            let mut tables: Vec<usize> = scan
                .components
                .iter()
                .filter_map(|part| if class == 0 { part.dc_table } else { part.ac_table })
                .collect();
            tables.sort_unstable();
            tables.dedup();
            if tables.len() > allowed {
                return Err(CpuReason::HuffmanTables);
            }
        }
        // HYBRID gives wrong pixels for some of these, with success.
        if !sequential && scan.restart_interval > 0 {
            return Err(CpuReason::Restarts);
        }
        let restarts = codestream.restart_index(scan);
        let expected = match u64::from(scan.restart_interval) {
            0 => 1,
            interval => scan.mcus(codestream.frame()).pixels().div_ceil(interval),
        };
        if !restarts.in_order || restarts.segments.len() as u64 != expected {
            return Err(CpuReason::Restarts);
        }
    }
    Ok(())
}

/// Warnings about metadata, which the canonical file leaves out.
fn is_harmless(warning: &Warning) -> bool {
    matches!(warning, Warning::JfifVersion { .. } | Warning::IccIncomplete)
}

#[cfg(test)]
mod tests {
    use isopel_conformance::corpus;
    use isopel_core::{Codestream, DecodeOptions, FormatRequest, Limits};

    use super::*;

    fn choice(jpeg: &[u8], options: &DecodeOptions, support: &RouteSupport) -> Result<Choice, CpuReason> {
        let codestream = Codestream::parse(jpeg, &Limits::default()).unwrap();
        choose(&DecodePlan::new(&codestream, options).unwrap(), support)
    }

    fn hazard(name: &str) -> Result<NvjpegRoute, CpuReason> {
        let jpeg = corpus::hazard(name).unwrap();
        choice(&jpeg, &DecodeOptions::default(), &RouteSupport::ALL).map(|choice| choice.route)
    }

    #[test]
    fn what_nvjpeg_gets_wrong_goes_to_the_cpu() {
        for (name, reason) in [
            ("colour-adobe0-rgb.jpg", CpuReason::Color),
            ("colour-ids-RGB-no-marker.jpg", CpuReason::Color),
            ("colour-cmyk-adobe0.jpg", CpuReason::Color),
            ("colour-ycck-adobe2.jpg", CpuReason::Color),
            ("sampling-410.jpg", CpuReason::Sampling),
            ("sampling-444-as-2x1-2x1-2x1.jpg", CpuReason::Sampling),
            ("dims-1x9-420.jpg", CpuReason::NarrowChroma),
            ("dims-65500x1.jpg", CpuReason::Large),
            ("container-no-eoi.jpg", CpuReason::Untidy),
            ("coding-samsung-sos-se64.jpg", CpuReason::Untidy),
            ("tables-quant-zero.jpg", CpuReason::Quantizers),
            ("coding-noninterleaved-420.jpg", CpuReason::Scans),
            ("coding-progressive-dc-only.jpg", CpuReason::Untidy),
            ("coding-progressive-420-rst.jpg", CpuReason::Restarts),
            ("orient-5-420-progressive-rst.jpg", CpuReason::Restarts),
            ("restart-wrong-number.jpg", CpuReason::Restarts),
            ("restart-one-missing.jpg", CpuReason::Restarts),
        ] {
            assert_eq!(hazard(name), Err(reason), "{name}");
        }
    }

    #[test]
    fn smaller_scales_go_to_the_cpu() {
        let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
        for scale in Scale::ALL.into_iter().filter(|&scale| scale != Scale::Full) {
            let choice = choice(&jpeg, &DecodeOptions::default().scale(scale), &RouteSupport::ALL);
            assert_eq!(choice, Err(CpuReason::Scale), "{scale}");
        }
    }

    #[test]
    fn plain_files_go_to_the_engines_and_progressive_ones_to_hybrid() {
        for name in ["container-base-420.jpg", "roi-422.jpg", "colour-gray.jpg", "restart-dri1.jpg"] {
            assert_eq!(hazard(name), Ok(NvjpegRoute::Engines), "{name}");
        }
        assert_eq!(hazard("coding-progressive-420.jpg"), Ok(NvjpegRoute::Hybrid));
    }

    #[test]
    fn routes_that_are_not_there_are_not_chosen() {
        let baseline = corpus::hazard("container-base-420.jpg").unwrap();
        let progressive = corpus::hazard("coding-progressive-420.jpg").unwrap();
        let options = DecodeOptions::default();
        let no_engines = RouteSupport { engines: false, ..RouteSupport::ALL };
        let only_engines = RouteSupport { engines: true, gpu_hybrid: false, hybrid: false };
        let nothing = RouteSupport { engines: false, ..only_engines };
        let route = |jpeg, support| choice(jpeg, &options, support).map(|choice| choice.route);
        assert_eq!(route(&baseline, &no_engines), Ok(NvjpegRoute::GpuHybrid));
        assert_eq!(route(&baseline, &nothing), Err(CpuReason::NoRoute));
        assert_eq!(route(&progressive, &only_engines), Err(CpuReason::NoRoute));
        assert_eq!(NvjpegRoute::Engines.next(&RouteSupport::ALL), Some(NvjpegRoute::GpuHybrid));
        assert_eq!(NvjpegRoute::Engines.next(&only_engines), None);
        assert_eq!(NvjpegRoute::GpuHybrid.next(&RouteSupport::ALL), None);
        assert_eq!(NvjpegRoute::Hybrid.next(&RouteSupport::ALL), None);
    }

    #[test]
    fn formats_choose_the_pixels_that_nvjpeg_is_asked_for() {
        let jpeg = corpus::hazard("container-base-420.jpg").unwrap();
        for format in PixelFormat::ALL.into_iter().filter(|&format| format != PixelFormat::Cmyk8) {
            let options = DecodeOptions::default().format(format);
            let expected = match format {
                PixelFormat::Gray8 => Ok(SourcePixels::Luma),
                PixelFormat::ComponentPlanes => Err(CpuReason::Format),
                _ => Ok(SourcePixels::Rgb),
            };
            assert_eq!(choice(&jpeg, &options, &RouteSupport::ALL).map(|choice| choice.pixels), expected, "{format}");
        }
        let gray = corpus::hazard("colour-gray.jpg").unwrap();
        let source = DecodeOptions::default().format(FormatRequest::Source);
        assert_eq!(choice(&gray, &source, &RouteSupport::ALL).map(|choice| choice.pixels), Ok(SourcePixels::Luma));
    }
}

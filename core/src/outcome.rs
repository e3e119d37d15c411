//! What decoding an image gave besides its pixels.

use std::fmt;

use crate::codestream::ColorModel;
use crate::entropy::CoefficientReport;
use crate::geometry::{Size, StoredRect};
use crate::orientation::Orientation;
use crate::pixels::PixelLayout;
use crate::plan::DecodePlan;
use crate::scale::Scale;
use crate::warning::Warning;

/// Which code made the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Route {
    /// isopel's own decoder on the CPU; exact.
    Cpu,
    /// Entropy decoding on the CPU, reconstruction in wgpu compute shaders; exact.
    WgpuFromCoefficients,
    /// Entropy decoding and reconstruction in wgpu compute shaders; exact.
    WgpuWhole,
    /// isopel's own decoder on the CPU, the pixels then copied to the target by wgpu; exact.
    WgpuUpload,
    /// isopel's own CUDA kernels, entropy decoding included but for progressive and irregular files, which the CPU reads;
    /// exact.
    CudaExact,
    /// nvJPEG on the GPU's JPEG engines; within a bound of exact.
    CudaEngines,
    /// nvJPEG with entropy decoding on the SMs; within a bound of exact.
    CudaGpuHybrid,
    /// nvJPEG with entropy decoding on the CPU; within a bound of exact.
    CudaHybrid,
    /// isopel's own decoder on the CPU, the pixels then copied to the CUDA device; exact.
    CudaUpload,
}

impl Route {
    /// Whether its pixels are the CPU's to the byte; nvJPEG's differ a little.
    pub fn is_exact(self) -> bool {
        !matches!(self, Route::CudaEngines | Route::CudaGpuHybrid | Route::CudaHybrid)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Cpu => f.write_str("cpu"),
            Route::WgpuFromCoefficients => f.write_str("wgpu, from coefficients"),
            Route::WgpuWhole => f.write_str("wgpu, whole"),
            Route::WgpuUpload => f.write_str("wgpu, cpu and upload"),
            Route::CudaExact => f.write_str("cuda, exact"),
            Route::CudaEngines => f.write_str("cuda, engines"),
            Route::CudaGpuHybrid => f.write_str("cuda, gpu hybrid"),
            Route::CudaHybrid => f.write_str("cuda, hybrid"),
            Route::CudaUpload => f.write_str("cuda, cpu and upload"),
        }
    }
}

/// What was decoded, and how well.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Format, size and planes of the pixels.
    pub layout: PixelLayout,
    /// The file's own colour model; the pixels were converted from it.
    pub color: ColorModel,
    /// The orientation that was applied to the pixels. Do not rotate again.
    pub orientation: Orientation,
    /// The size that was decoded at.
    pub scale: Scale,
    /// What was decoded, in stored coordinates of the picture at that scale.
    pub region: StoredRect,
    /// Which code made the pixels. Of routes that give the same, which one is taken may depend on what else is decoded
    /// with the file.
    pub route: Route,
    /// What was wrong with the file.
    pub warnings: Vec<Warning>,
    /// Rows of the region, in stored order from its top, before the first damage that was noticed. All of
    /// them if none was. Damage that happens to be valid code can't be noticed.
    pub valid_rows: u32,
    /// Whether the file sent every bit of every coefficient; progressive files may stop before.
    pub complete: bool,
}

impl Report {
    /// For backends: the report of a plan whose coefficients were read with this result.
    pub fn new(plan: &DecodePlan, layout: &PixelLayout, route: Route, found: CoefficientReport) -> Self {
        Report {
            layout: layout.clone(),
            color: plan.codestream().color_model(),
            orientation: plan.orientation(),
            scale: plan.scale(),
            region: plan.region(),
            route,
            warnings: found.warnings,
            valid_rows: found.valid_rows,
            complete: plan.codestream().is_complete(),
        }
    }

    /// Whether pixels are known to be wrong or missing.
    pub fn is_damaged(&self) -> bool {
        self.warnings.iter().any(Warning::is_damage)
    }
}

/// A decoded image in memory that isopel allocated.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The pixels, packed, as [`Report::layout`] describes them.
    pub pixels: Vec<u8>,
    /// What was decoded, and how well.
    pub report: Report,
}

impl Image {
    /// Width and height in pixels, after orientation.
    pub fn size(&self) -> Size {
        self.report.layout.size()
    }
}

//! The package's `DecodeOptions` object, read into core's.

use isopel_core::{
    DecodeOptions, DisplayRect, FormatRequest, Limits, Orientation, OrientationPolicy, PixelFormat, Rect, Region,
    Scale, StoredRect, Strictness,
};
use wasm_bindgen::prelude::*;

use crate::error::JsError;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "WasmOptions")]
    pub type JsOptions;
    #[wasm_bindgen(method, getter, structural)]
    fn region(this: &JsOptions) -> Option<JsRegion>;
    #[wasm_bindgen(method, getter, structural)]
    fn space(this: &JsOptions) -> Option<String>;
    #[wasm_bindgen(method, getter, structural)]
    fn scale(this: &JsOptions) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn orientation(this: &JsOptions) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn format(this: &JsOptions) -> Option<String>;
    #[wasm_bindgen(method, getter, structural)]
    fn strict(this: &JsOptions) -> Option<bool>;
    #[wasm_bindgen(method, getter, structural)]
    fn limits(this: &JsOptions) -> Option<JsLimits>;
    #[wasm_bindgen(method, getter, structural)]
    fn entropy(this: &JsOptions) -> JsValue;
    #[wasm_bindgen(method, getter, structural, js_name = timings)]
    fn wants_timings(this: &JsOptions) -> Option<bool>;

    type JsRegion;
    #[wasm_bindgen(method, getter, structural)]
    fn x(this: &JsRegion) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn y(this: &JsRegion) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn width(this: &JsRegion) -> JsValue;
    #[wasm_bindgen(method, getter, structural)]
    fn height(this: &JsRegion) -> JsValue;

    type JsLimits;
    #[wasm_bindgen(method, getter, structural, js_name = maxPixels)]
    fn max_pixels(this: &JsLimits) -> JsValue;
    #[wasm_bindgen(method, getter, structural, js_name = maxMemory)]
    fn max_memory(this: &JsLimits) -> JsValue;
    #[wasm_bindgen(method, getter, structural, js_name = maxWork)]
    fn max_work(this: &JsLimits) -> JsValue;
    #[wasm_bindgen(method, getter, structural, js_name = maxMetadata)]
    fn max_metadata(this: &JsLimits) -> JsValue;
    #[wasm_bindgen(method, getter, structural, js_name = maxPixelsPerByte)]
    fn max_pixels_per_byte(this: &JsLimits) -> JsValue;
}

/// Where WebGPU's entropy decoding runs: what needs its passes more comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntropyPlace {
    Cpu,
    Auto,
    Gpu,
}

/// No more can be addressed with certainty: a WebAssembly memory has 4 GiB, and one object at most half of it.
const ADDRESSABLE: u64 = (1 << 31) - 1;

impl JsOptions {
    /// Whether the stages are to be timed.
    pub(crate) fn timings(&self) -> bool {
        self.wants_timings() == Some(true)
    }

    /// Where entropy decoding runs if it is WebGPU that decodes.
    pub(crate) fn entropy_place(&self) -> Result<EntropyPlace, JsError> {
        let value = self.entropy();
        match value.as_string().as_deref() {
            None if value.is_undefined() || value.is_null() => Ok(EntropyPlace::Auto),
            Some("auto") => Ok(EntropyPlace::Auto),
            Some("cpu") => Ok(EntropyPlace::Cpu),
            Some("gpu") => Ok(EntropyPlace::Gpu),
            _ => Err(bad("entropy", "'auto', 'cpu' or 'gpu'", &value)),
        }
    }

    /// Core's options. The default format is RGBA, which canvases take.
    pub(crate) fn decode_options(&self) -> Result<DecodeOptions, JsError> {
        // Wrong for one backend is wrong for all.
        self.entropy_place()?;
        let strictness = if self.strict() == Some(true) { Strictness::Strict } else { Strictness::Lenient };
        Ok(DecodeOptions::default()
            .region(self.region_request()?)
            .scale(self.scale_request()?)
            .orientation(self.orientation_policy()?)
            .format(self.format_request()?)
            .strictness(strictness)
            .limits(self.limit_values()?))
    }

    fn region_request(&self) -> Result<Region, JsError> {
        let space = self.space();
        let Some(region) = self.region() else { return Ok(Region::Full) };
        let pixel = |name, value: JsValue| {
            let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=4294967295.0).contains(number));
            number.map(|number| number as u32).ok_or_else(|| bad(name, "a whole number of pixels, 0 or more", &value))
        };
        let rect = Rect::new(
            pixel("region.x", region.x())?,
            pixel("region.y", region.y())?,
            pixel("region.width", region.width())?,
            pixel("region.height", region.height())?,
        );
        match space.as_deref() {
            None | Some("display") => Ok(DisplayRect::from_rect(rect).into()),
            Some("stored") => Ok(StoredRect::from_rect(rect).into()),
            Some(other) => Err(bad("space", "'display' or 'stored'", &other.into())),
        }
    }

    fn scale_request(&self) -> Result<Scale, JsError> {
        let value = self.scale();
        if value.is_undefined() || value.is_null() {
            return Ok(Scale::Full);
        }
        let scale = Scale::ALL.into_iter().find(|scale| value.as_f64() == Some(1.0 / f64::from(scale.denominator())));
        scale.ok_or_else(|| bad("scale", "1, 0.5, 0.25 or 0.125", &value))
    }

    fn orientation_policy(&self) -> Result<OrientationPolicy, JsError> {
        let value = self.orientation();
        if value.is_undefined() || value.is_null() {
            return Ok(OrientationPolicy::Apply);
        }
        match (value.as_string().as_deref(), value.as_f64()) {
            (Some("apply"), _) => Ok(OrientationPolicy::Apply),
            (Some("ignore"), _) => Ok(OrientationPolicy::Ignore),
            (None, Some(number)) if number.fract() == 0.0 && (1.0..=8.0).contains(&number) => {
                Ok(OrientationPolicy::Set(Orientation::ALL[number as usize - 1]))
            }
            _ => Err(bad("orientation", "'apply', 'ignore' or an EXIF value from 1 to 8", &value)),
        }
    }

    fn format_request(&self) -> Result<FormatRequest, JsError> {
        match self.format().as_deref() {
            None => Ok(PixelFormat::Rgba8.into()),
            Some("source") => Ok(FormatRequest::Source),
            Some(name) => match PixelFormat::ALL.into_iter().find(|format| format.name() == name) {
                Some(format) => Ok(format.into()),
                None => {
                    let names = PixelFormat::ALL.map(PixelFormat::name).join(", ");
                    Err(bad("format", &format!("source or one of {names}"), &name.into()))
                }
            },
        }
    }

    fn limit_values(&self) -> Result<Limits, JsError> {
        let defaults = Limits::default();
        let Some(given) = self.limits() else { return Ok(defaults) };
        let limit = |name, value: JsValue, default: u64| match value.as_f64() {
            // Infinity saturates.
            Some(number) if number >= 0.0 => Ok(number as u64),
            None if value.is_undefined() || value.is_null() => Ok(default),
            _ => Err(bad(name, "a number, 0 or more", &value)),
        };
        Ok(Limits {
            max_pixels: limit("limits.maxPixels", given.max_pixels(), defaults.max_pixels)?,
            max_memory: limit("limits.maxMemory", given.max_memory(), defaults.max_memory)?.min(ADDRESSABLE),
            max_work: limit("limits.maxWork", given.max_work(), defaults.max_work)?,
            max_metadata: limit("limits.maxMetadata", given.max_metadata(), defaults.max_metadata)?,
            max_pixels_per_byte: limit(
                "limits.maxPixelsPerByte",
                given.max_pixels_per_byte(),
                defaults.max_pixels_per_byte,
            )?,
        })
    }
}

fn bad(name: &str, expected: &str, value: &JsValue) -> JsError {
    JsError::new("bad-option", format!("{name} must be {expected}, not {value:?}"))
}

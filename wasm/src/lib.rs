//! The WebAssembly surface of isopel: what the npm package's TypeScript calls. Nothing is decided here; requests are
//! read, handed to `isopel-core` or `isopel-wgpu`, and answers are written as JavaScript objects.

mod error;
mod header;
mod image;
mod options;
#[cfg(feature = "webgpu")]
mod webgpu;

use std::time::Duration;

use isopel_core::{Codestream, DecodePlan, cpu};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use error::JsError;
use header::JsHeader;
use image::JsImage;
use options::JsOptions;
#[cfg(feature = "webgpu")]
pub use webgpu::WebGpu;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"import type { WasmError, WasmHeader, WasmImage, WasmOptions } from "../wasm-types.js";"#;

/// Reads a file's markers: up to the first scan, or all of them.
#[wasm_bindgen]
pub fn probe(jpeg: &[u8], options: &JsOptions, whole: bool) -> Result<JsHeader, JsValue> {
    let limits = options.decode_options().map_err(JsValue::from)?.limits;
    let parse = if whole { Codestream::parse } else { Codestream::parse_header };
    let codestream = parse(jpeg, &limits).map_err(JsError::from)?;
    Ok(header::describe(&codestream, whole))
}

/// Decodes on the CPU.
#[wasm_bindgen]
pub fn decode(jpeg: &[u8], options: &JsOptions) -> Result<JsImage, JsValue> {
    let start = now();
    let decode_options = options.decode_options().map_err(JsValue::from)?;
    let codestream = Codestream::parse(jpeg, &decode_options.limits).map_err(JsError::from)?;
    let plan = DecodePlan::new(&codestream, &decode_options).map_err(JsError::from)?;
    let parsed = now();
    if options.timings() {
        let (image, times) = cpu::decode_timed_by(&plan, now).map_err(JsError::from)?;
        let js_image = image::describe(&image.report, Some(&pixels(&image.pixels)));
        js_image.set_timings(&image::timings(&[
            ("parse", parsed.saturating_sub(start)),
            ("entropy", times.entropy),
            ("transform", times.dequant_idct),
            ("color", times.upsample_color),
        ]));
        return Ok(js_image);
    }
    let image = cpu::decode(&plan).map_err(JsError::from)?;
    Ok(image::describe(&image.report, Some(&pixels(&image.pixels))))
}

/// A copy of pixels that JavaScript owns.
fn pixels(bytes: &[u8]) -> Uint8Array {
    Uint8Array::from(bytes)
}

/// The page's clock.
fn now() -> Duration {
    #[wasm_bindgen]
    unsafe extern "C" {
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        safe fn performance_now() -> f64;
    }
    Duration::from_secs_f64(performance_now() / 1000.0)
}

//! Core's `Report` as the package's `DecodedImage` object.

use std::time::Duration;

use isopel_core::{Report, Route, Warning};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object, typescript_type = "WasmImage")]
    #[derive(Clone)]
    pub type JsImage;
    #[wasm_bindgen(method, setter, structural)]
    fn set_width(this: &JsImage, width: u32);
    #[wasm_bindgen(method, setter, structural)]
    fn set_height(this: &JsImage, height: u32);
    #[wasm_bindgen(method, setter, structural)]
    fn set_data(this: &JsImage, data: &Uint8Array);
    #[wasm_bindgen(method, setter, structural)]
    fn set_format(this: &JsImage, format: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_planes(this: &JsImage, planes: &Array);
    #[wasm_bindgen(method, setter, structural)]
    fn set_color(this: &JsImage, color: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_orientation(this: &JsImage, orientation: u8);
    #[wasm_bindgen(method, setter, structural)]
    fn set_scale(this: &JsImage, scale: f64);
    #[wasm_bindgen(method, setter, structural, js_name = storedRegion)]
    fn set_stored_region(this: &JsImage, region: &Object);
    #[wasm_bindgen(method, setter, structural)]
    fn set_warnings(this: &JsImage, warnings: &Array);
    #[wasm_bindgen(method, setter, structural, js_name = validRows)]
    fn set_valid_rows(this: &JsImage, rows: u32);
    #[wasm_bindgen(method, setter, structural)]
    fn set_complete(this: &JsImage, complete: bool);
    #[wasm_bindgen(method, setter, structural)]
    fn set_route(this: &JsImage, route: &str);
    #[wasm_bindgen(method, setter, structural)]
    pub fn set_timings(this: &JsImage, timings: &Object);
}

/// A report with its pixels; without, if they are on the GPU.
pub(crate) fn describe(report: &Report, data: Option<&Uint8Array>) -> JsImage {
    let image: JsImage = Object::new().unchecked_into();
    let layout = &report.layout;
    image.set_width(layout.size().width);
    image.set_height(layout.size().height);
    if let Some(data) = data {
        image.set_data(data);
    }
    image.set_format(layout.format().name());
    let planes = layout.planes().iter().map(|plane| {
        numbers(&[
            ("offset", plane.offset as f64),
            ("width", plane.size.width.into()),
            ("height", plane.size.height.into()),
            ("stride", plane.stride as f64),
        ])
    });
    image.set_planes(&planes.collect());
    image.set_color(report.color.name());
    image.set_orientation(report.orientation.to_exif());
    image.set_scale(1.0 / f64::from(report.scale.denominator()));
    let region = report.region.rect();
    image.set_stored_region(&numbers(&[
        ("x", region.x.into()),
        ("y", region.y.into()),
        ("width", region.width.into()),
        ("height", region.height.into()),
    ]));
    image.set_warnings(&warnings(&report.warnings));
    image.set_valid_rows(report.valid_rows);
    image.set_complete(report.complete);
    image.set_route(route_name(report.route));
    image
}

/// Who made the pixels.
fn route_name(route: Route) -> &'static str {
    match route {
        Route::WgpuWhole => "webgpu-whole",
        Route::WgpuFromCoefficients => "webgpu",
        _ => "wasm",
    }
}

/// Warnings as objects.
pub(crate) fn warnings(warnings: &[Warning]) -> Array {
    let objects = warnings.iter().map(|warning| {
        let object = numbers(&[]);
        set(&object, "message", &warning.to_string().into());
        set(&object, "damage", &warning.is_damage().into());
        set(&object, "offset", &warning.offset().map(|offset| offset as u32).into());
        set(&object, "marker", &warning.marker().map(|marker| marker.to_string()).into());
        object
    });
    objects.collect()
}

/// Milliseconds by stage.
pub(crate) fn timings(stages: &[(&str, Duration)]) -> Object {
    let milliseconds: Vec<_> = stages.iter().map(|(name, time)| (*name, time.as_secs_f64() * 1000.0)).collect();
    numbers(&milliseconds)
}

/// An object with these numbers.
pub(crate) fn numbers(fields: &[(&str, f64)]) -> Object {
    let object = Object::new();
    for (name, value) in fields {
        set(&object, name, &(*value).into());
    }
    object
}

pub(crate) fn set(object: &Object, name: &str, value: &JsValue) {
    // An object made here refuses no field.
    let _ = Reflect::set(object, &name.into(), value);
}

//! Core's `Codestream` as the package's `Header` object.

use isopel_core::{Codestream, Scan};
use js_sys::{Array, Object};
use wasm_bindgen::prelude::*;

use crate::image::{numbers, set, warnings};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object, typescript_type = "WasmHeader")]
    pub type JsHeader;
}

/// What the markers say; with the scans, if all markers were read.
pub(crate) fn describe(codestream: &Codestream, whole: bool) -> JsHeader {
    let (display, stored, frame) = (codestream.display_size(), codestream.stored_size(), codestream.frame());
    let header = numbers(&[
        ("width", display.width.into()),
        ("height", display.height.into()),
        ("storedWidth", stored.width.into()),
        ("storedHeight", stored.height.into()),
        ("orientation", codestream.orientation().to_exif().into()),
        ("restartInterval", codestream.restart_interval().into()),
    ]);
    set(&header, "process", &frame.process.to_string().into());
    set(&header, "color", &codestream.color_model().name().into());
    let components = frame.components.iter().map(|component| {
        numbers(&[
            ("id", component.id.into()),
            ("horizontal", component.sampling.horizontal.into()),
            ("vertical", component.sampling.vertical.into()),
        ])
    });
    set(&header, "components", &components.collect::<Array>());
    if whole {
        let scans = codestream.scans().iter().map(|scan| describe_scan(codestream, scan));
        set(&header, "scans", &scans.collect::<Array>());
        set(&header, "complete", &codestream.is_complete().into());
        set(&header, "warnings", &warnings(&codestream.warnings()));
        set(&header, "iccProfileBytes", &codestream.icc_profile().map(|profile| profile.len() as u32).into());
        set(&header, "imageBytes", &(codestream.consumed() as u32).into());
    }
    header.unchecked_into()
}

fn describe_scan(codestream: &Codestream, scan: &Scan) -> Object {
    let object = numbers(&[
        ("offset", scan.offset as f64),
        ("dataStart", scan.data.start as f64),
        ("dataEnd", scan.data.end as f64),
        ("spectralStart", scan.spectral_start.into()),
        ("spectralEnd", scan.spectral_end.into()),
        ("approximationHigh", scan.approximation_high.into()),
        ("approximationLow", scan.approximation_low.into()),
    ]);
    let components = &codestream.frame().components;
    let ids = scan.components.iter().map(|part| JsValue::from(components[part.component].id));
    set(&object, "components", &ids.collect::<Array>());
    object
}

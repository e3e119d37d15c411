//! Errors as the package's TypeScript expects them; it makes `IsopelError`s of them.

use isopel_core::Error;
use js_sys::Object;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object, typescript_type = "WasmError")]
    type ErrorObject;
    #[wasm_bindgen(method, setter, structural)]
    fn set_kind(this: &ErrorObject, kind: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_message(this: &ErrorObject, message: &str);
    #[wasm_bindgen(method, setter, structural)]
    fn set_offset(this: &ErrorObject, offset: Option<u32>);
    #[wasm_bindgen(method, setter, structural)]
    fn set_marker(this: &ErrorObject, marker: Option<String>);
}

/// Why there are no pixels.
pub(crate) struct JsError {
    kind: &'static str,
    message: String,
    offset: Option<usize>,
    marker: Option<String>,
}

impl JsError {
    /// An error without a place in the file.
    pub(crate) fn new(kind: &'static str, message: String) -> Self {
        JsError { kind, message, offset: None, marker: None }
    }
}

impl From<Error> for JsError {
    fn from(error: Error) -> Self {
        JsError {
            kind: error.code(),
            message: error.to_string(),
            offset: error.offset(),
            marker: error.marker().map(|marker| marker.to_string()),
        }
    }
}

impl From<JsError> for JsValue {
    fn from(error: JsError) -> JsValue {
        let object: ErrorObject = Object::new().unchecked_into();
        object.set_kind(error.kind);
        object.set_message(&error.message);
        object.set_offset(error.offset.map(|offset| offset as u32));
        object.set_marker(error.marker);
        object.into()
    }
}

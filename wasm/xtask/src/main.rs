//! Builds each WebAssembly file of the npm package with its JavaScript bindings: `cargo run -- OUT [NAME...]`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

/// One WebAssembly file.
struct Variant {
    name: &'static str,
    simd: bool,
    features: &'static [&'static str],
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "cpu", simd: false, features: &[] },
    Variant { name: "cpu-simd", simd: true, features: &[] },
    // Every browser with WebGPU has SIMD.
    Variant { name: "webgpu", simd: true, features: &["webgpu"] },
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().context("usage: isopel-wasm-xtask OUT [NAME...]")?);
    let wanted: Vec<String> = arguments.collect();
    if let Some(unknown) = wanted.iter().find(|name| VARIANTS.iter().all(|variant| variant.name != **name)) {
        bail!("there is no variant {unknown}; there are cpu, cpu-simd and webgpu");
    }
    for variant in VARIANTS.iter().filter(|variant| wanted.is_empty() || wanted.iter().any(|name| name == variant.name))
    {
        build(variant, &out).with_context(|| format!("building {}", variant.name))?;
    }
    Ok(())
}

fn build(variant: &Variant, out: &Path) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    // Each set of flags has a folder of its own: in a shared one each build would undo the other.
    let target = target.join(if variant.simd { "wasm-simd" } else { "wasm-plain" });
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(&root)
        .args(["build", "--locked", "-p", "isopel-wasm", "--target", "wasm32-unknown-unknown", "--profile", "wasm"])
        .args(["--features", &variant.features.join(",")])
        .env("RUSTFLAGS", if variant.simd { "-C target-feature=+simd128" } else { "" })
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .context("cargo can't be started")?;
    if !status.success() {
        bail!("cargo build failed");
    }
    Bindgen::new()
        .web(true)?
        .input_path(target.join("wasm32-unknown-unknown/wasm/isopel_wasm.wasm"))
        .out_name("isopel")
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        // The package finds the files itself, so that bundlers see each once.
        .omit_default_module_path(true)
        // Lets the package give an instance's memory back and start again.
        .reset_state_function(true)
        .generate(out.join(variant.name))
}

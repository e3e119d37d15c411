//! Decoding at 1/2, 1/4 and 1/8 beside libjpeg-turbo's, round after round, so that whatever else the machine does hits
//! both alike.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use isopel_core::{Codestream, DecodeOptions, DecodePlan, FormatRequest, Limits, OrientationPolicy, Scale, cpu};
use turbojpeg::{Colorspace, Decompressor, Image, PixelFormat, ScalingFactor};

use crate::speed::median;

pub fn run(files: &[PathBuf], rounds: usize) -> Result<(), String> {
    println!(
        "one thread each, {rounds} rounds, decoders interleaved, medians; ms, and libjpeg-turbo's time / isopel's"
    );
    for file in files {
        let bytes = crate::read(file)?;
        let size = Codestream::parse_header(&bytes, &Limits::default()).map_err(text)?.stored_size();
        println!("{} ({size})", file.display());
        for scale in Scale::ALL {
            println!("{}", row(&bytes, scale, rounds)?);
        }
    }
    Ok(())
}

fn row(bytes: &[u8], scale: Scale, rounds: usize) -> Result<String, String> {
    let (mut own, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut stages = [Vec::new(), Vec::new(), Vec::new()];
    let same = isopel(bytes, scale)? == libjpeg_turbo(bytes, scale)?;
    for _ in 0..rounds {
        let start = Instant::now();
        black_box(isopel(black_box(bytes), scale)?);
        let middle = Instant::now();
        black_box(libjpeg_turbo(black_box(bytes), scale)?);
        let times = (middle - start, middle.elapsed());
        own.push(times.0.as_secs_f64() * 1e3);
        others.push(times.1.as_secs_f64() * 1e3);
        ratios.push(times.1.div_duration_f64(times.0));
        let times = planned(bytes, scale, |plan| cpu::decode_timed(plan).map(|(_, times)| times).map_err(text))?;
        for (stages, time) in stages.iter_mut().zip([times.entropy, times.dequant_idct, times.upsample_color]) {
            stages.push(time.as_secs_f64() * 1e3);
        }
    }
    let [entropy, idct, color] = stages.map(median);
    Ok(format!(
        "  {:4} isopel {:8.2} (entropy {entropy:.2}, IDCT {idct:.2}, upsample + colour {color:.2})   libjpeg-turbo {:8.2}   \
         {:5.2}   {}",
        scale.name(),
        median(own),
        median(others),
        median(ratios),
        if same { "same pixels" } else { "other pixels" }
    ))
}

fn planned<R>(bytes: &[u8], scale: Scale, work: impl FnOnce(&DecodePlan) -> Result<R, String>) -> Result<R, String> {
    let options = DecodeOptions::default().orientation(OrientationPolicy::Ignore).format(FormatRequest::Source);
    let codestream = Codestream::parse(bytes, &options.limits).map_err(text)?;
    work(&DecodePlan::new(&codestream, &options.scale(scale)).map_err(text)?)
}

fn isopel(bytes: &[u8], scale: Scale) -> Result<Vec<u8>, String> {
    planned(bytes, scale, |plan| cpu::decode(plan).map(|image| image.pixels).map_err(text))
}

fn libjpeg_turbo(bytes: &[u8], scale: Scale) -> Result<Vec<u8>, String> {
    let mut decompressor = Decompressor::new().map_err(text)?;
    let factor = ScalingFactor::new(1, scale.denominator() as usize);
    decompressor.set_scaling_factor(factor).map_err(text)?;
    let header = decompressor.read_header(bytes).map_err(text)?;
    let scaled = header.scaled(factor);
    let format = if header.colorspace == Colorspace::Gray { PixelFormat::GRAY } else { PixelFormat::RGB };
    let pitch = scaled.width * format.size();
    let pixels = vec![0; pitch * scaled.height];
    let mut image = Image { pixels, width: scaled.width, pitch, height: scaled.height, format };
    decompressor.decompress(bytes, image.as_deref_mut()).map_err(text)?;
    Ok(image.pixels)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

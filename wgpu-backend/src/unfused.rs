//! The last stages as separate passes over whole planes, for tests: what `orient_quads` and `orient` do at once has to
//! give the same bytes.

use isopel_conformance::backends::on_cpu;
use isopel_conformance::random::{self, Random};
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{HostBuffer, HostTarget};
use isopel_core::{
    Codestream, DecodeOptions, DecodePlan, DisplayRect, Job, Orientation, OrientationPolicy, PixelFormat,
};

use crate::layout::{Component, Output};
use crate::output::TileOutput;
use crate::pipelines::Pipeline;
use crate::record::{Memory, Recorded};
use crate::stages::{Access, COLOR, LAYOUT, Stage, UPSAMPLE};
use crate::submit::requests;
use crate::tile::Tile;
use crate::{WgpuBackend, WgpuTarget};

const UPSAMPLE_PASS: Stage = Stage {
    name: "upsample_pass",
    files: &[LAYOUT, UPSAMPLE, include_str!("../shaders/unfused/upsample_pass.wgsl")],
    bindings: &[Access::Read, Access::Read, Access::Read, Access::ReadWrite],
};
const COLOR_PASS: Stage = Stage {
    name: "color_pass",
    files: &[LAYOUT, COLOR, include_str!("../shaders/unfused/color_pass.wgsl")],
    bindings: &[Access::Read, Access::Read, Access::ReadWrite],
};
const ORIENT_PASS: Stage = Stage {
    name: "orient_pass",
    files: &[LAYOUT, include_str!("../shaders/unfused/orient_pass.wgsl")],
    bindings: &[Access::Read, Access::Read, Access::Read, Access::ReadWrite],
};

struct Unfused<'b> {
    backend: &'b WgpuBackend,
    upsample: Pipeline,
    color: Pipeline,
    orient: Pipeline,
}

impl<'b> Unfused<'b> {
    fn new(backend: &'b WgpuBackend) -> Self {
        let [upsample, color, orient] = [UPSAMPLE_PASS, COLOR_PASS, ORIENT_PASS]
            .map(|stage| Pipeline::new(&backend.device, &stage, stage.source(), &[]));
        Unfused { backend, upsample, color, orient }
    }

    fn upload<T: bytemuck::Pod>(&self, items: &[T]) -> wgpu::Buffer {
        gpu::buffer(&self.backend.device, bytemuck::cast_slice(items))
    }

    fn words(&self, count: usize) -> wgpu::Buffer {
        gpu::buffer(&self.backend.device, &vec![0xEE; count * 4])
    }

    fn run(&self, pipeline: &Pipeline, buffers: &[&wgpu::Buffer], invocations: usize) {
        let resources: Vec<_> = buffers.iter().map(|buffer| buffer.as_entire_binding()).collect();
        let bind_group = pipeline.bind(&self.backend.device, &resources);
        let mut encoder = self.backend.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        pass.dispatch_workgroups(invocations.div_ceil(64) as u32, 1, 1);
        drop(pass);
        self.backend.queue.submit([encoder.finish()]);
    }

    /// The packed pixels of a plan's request.
    fn decode(&self, plan: &DecodePlan, jpeg: &[u8], options: &DecodeOptions) -> Vec<u8> {
        let mut pixels = vec![0; plan.layout().required_len()];
        let target = WgpuTarget::Host(HostTarget::packed(HostBuffer::new(pixels.clone())));
        let (jobs, failed) =
            self.backend.prepare_all(requests(vec![Job { jpeg: jpeg.into(), options: *options, target }]), None);
        assert!(failed.is_empty(), "{failed:?}");
        let [tile] = jobs[0].prepared.tiles.as_slice() else { panic!("small pictures are one tile") };
        let mut encoder = self.backend.device.create_command_encoder(&Default::default());
        let Recorded { used, .. } = self.backend.record(&mut encoder, &jobs, &Memory::Own, None);
        self.backend.queue.submit([encoder.finish()]);
        for (index, output) in tile.outputs.iter().enumerate() {
            let place = plan.layout().planes()[index];
            let displayed = self.plane(tile, &used.planes[0], output, plan, index);
            let bytes_per_pixel = plan.format().bytes_per_pixel();
            for (pixel, word) in displayed.chunks_exact(4).enumerate() {
                let at = place.offset + pixel * bytes_per_pixel;
                pixels[at..at + bytes_per_pixel].copy_from_slice(&word[..bytes_per_pixel]);
            }
        }
        pixels
    }

    /// One plane's pixels as they are shown, a word each.
    fn plane(
        &self,
        tile: &Tile,
        planes: &wgpu::Buffer,
        output: &TileOutput,
        plan: &DecodePlan,
        index: usize,
    ) -> Vec<u8> {
        let stored = plan.plane_region(index);
        let words: Output = output.writers(0, 0)[0].1;
        let count = stored.width as usize * stored.height as usize;
        let components = if plan.format() == PixelFormat::ComponentPlanes { 1 } else { tile.components.len() };
        let first = words.component;
        let area = self.upload(&[first, components as u32, stored.x, stored.y, stored.width, stored.height]);
        let corner = self.upload(&[stored.x, stored.y, stored.width]);
        let outputs = self.upload(&[words]);
        let (samples, pixels, displayed) = (self.words(count * components), self.words(count), self.words(count));
        let tile_components = self.upload::<Component>(&tile.components);
        self.run(&self.upsample, &[&tile_components, &area, planes, &samples], count * components);
        self.run(&self.color, &[&outputs, &samples, &pixels], count);
        self.run(&self.orient, &[&outputs, &corner, &pixels, &displayed], count);
        gpu::read(&self.backend.device, &self.backend.queue, &displayed)
    }
}

/// Every sampling and colour model of the corpus, in every format and orientation, whole and in part.
#[test]
fn separate_passes_give_the_fused_pixels() {
    let Some((device, queue)) = gpu::callers_device_or_explain(wgpu::Limits::default()) else { return };
    let backend = gpu::block_on(WgpuBackend::from_device(device, queue, 2)).expect("the device suffices");
    let unfused = Unfused::new(&backend);
    let mut random = Random::new(random::seed(21));
    let (mut compared, formats) = (0, PixelFormat::ALL);
    for (file, jpeg) in corpus::decodable(100 * 100).expect("the corpus is there") {
        let first = random.below(formats.len());
        for (round, orientation) in Orientation::ALL.into_iter().enumerate() {
            let mut options = DecodeOptions::default()
                .format(formats[(first + round) % formats.len()])
                .orientation(OrientationPolicy::Set(orientation));
            if random.below(2) == 0 {
                let corner = (random.below_u32(3), random.below_u32(5));
                options = options.region(DisplayRect::new(corner.0, corner.1, 13, 10));
            }
            let codestream = Codestream::parse(&jpeg, &options.limits).expect("it is decodable");
            let Ok(plan) = DecodePlan::new(&codestream, &options) else { continue };
            let fused = backend.decode(&jpeg, &options).expect("it has a plan").pixels;
            let separate = unfused.decode(&plan, &jpeg, &options);
            let what = format!("{}, {}, {orientation}, {}", file.name(), plan.format(), plan.region().rect());
            assert!(separate == fused, "{what}: {} bytes differ", differing(&separate, &fused));
            assert!(on_cpu(&jpeg, &options).is_ok_and(|image| image.pixels == separate), "{what}: not the CPU's");
            compared += 1;
        }
    }
    assert!(compared > 300, "only {compared} were compared");
}

fn differing(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).filter(|(left, right)| left != right).count()
}

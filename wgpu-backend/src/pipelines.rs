//! The compute pipelines, made once for a device.

use crate::output::Writer;
use crate::stages::{Access, HUFFMAN_STAGES, STAGES, Stage};

/// One stage's pipeline and the layout of its bindings.
pub(crate) struct Pipeline {
    pub(crate) label: String,
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) bindings: wgpu::BindGroupLayout,
}

/// All pipelines.
pub(crate) struct Pipelines {
    pub(crate) dequant_idct: Pipeline,
    /// In the order of [`Writer::ALL`].
    writers: [Pipeline; Writer::ALL.len()],
    /// Those of `HUFFMAN_STAGES`, where entropy decoding may be the GPU's.
    pub(crate) huffman: Option<[Pipeline; HUFFMAN_STAGES.len()]>,
}

impl Pipelines {
    /// With those of entropy decoding if they are wanted.
    pub(crate) fn new(device: &wgpu::Device, huffman: bool) -> Self {
        let make = |stage: &Stage| Pipeline::new(device, stage, stage.source(), &[]);
        Pipelines {
            huffman: huffman.then(|| HUFFMAN_STAGES.each_ref().map(make)),
            ..Self::with_sources(device, Stage::source)
        }
    }

    /// With other shaders that bind the same; tests count with them who writes what.
    pub(crate) fn with_sources(device: &wgpu::Device, source: impl Fn(&Stage) -> String) -> Self {
        let [dequant_idct, orient, orient_quads, orient_420] = &STAGES;
        Pipelines {
            dequant_idct: Pipeline::new(device, dequant_idct, source(dequant_idct), &[]),
            writers: Writer::ALL.map(|writer| match writer {
                Writer::Pairs => Pipeline::new(device, orient_420, source(orient_420), &[]),
                Writer::Words => Pipeline::new(device, orient, source(orient), &[]),
                Writer::Quads { turned, usual } => {
                    let constants = [("turned", f64::from(turned)), ("usual", f64::from(usual))];
                    Pipeline::new(device, orient_quads, source(orient_quads), &constants)
                }
            }),
            huffman: None,
        }
    }

    /// The pipeline that writes so.
    pub(crate) fn of(&self, writer: Writer) -> &Pipeline {
        let index = Writer::ALL.iter().position(|&known| known == writer);
        &self.writers[index.expect("all writers are in their table")]
    }
}

impl Pipeline {
    /// A stage with its shader and override constants.
    pub(crate) fn new(device: &wgpu::Device, stage: &Stage, source: String, constants: &[(&str, f64)]) -> Self {
        let label = format!("jpeg.{}", stage.name);
        let descriptor =
            wgpu::ShaderModuleDescriptor { label: Some(&label), source: wgpu::ShaderSource::Wgsl(source.into()) };
        // Without naga's bounds checks and loop counters, which these indices and short loops do not need.
        // SAFETY: the shaders index only with numbers that `tile.rs`, `output.rs`, `write.rs` and `wave.rs` compute
        // from a plan: block headers and symbols lie in their sections, planes and targets are as large as the
        // components and outputs say, a quad is made only where its four pixels are, filters stay within the samples
        // that are there, and a workgroup beyond the work returns at once. Bytes of a JPEG file never become an
        // index without a mask (zigzag positions have 6 bits; look-up tables have an entry for each 16 bits), and
        // where they decide how far a reader gets, its index is checked. Entropy decoding has as many symbol slots
        // as the bits of a subsequence can fill, adds candidates only where there is room, clears the headers that
        // it may leave out, and consumes a bit at least with each round of a loop or ends after 256. The other loops
        // end after 64 and after 4 rounds. Checks that no device may drop (WebGPU's own) stay in force.
        #[expect(unsafe_code, reason = "wgpu marks unchecked shaders unsafe")]
        let module = unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) };
        let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..)
            .zip(stage.bindings)
            .map(|(binding, &access)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: access == Access::Read },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let bindings = device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(&label), entries: &entries });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&label),
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&label),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(stage.name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants,
                // Every word is written before it is read.
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        });
        Pipeline { label, pipeline, bindings }
    }

    pub(crate) fn bind(&self, device: &wgpu::Device, resources: &[wgpu::BindingResource]) -> wgpu::BindGroup {
        let entries: Vec<wgpu::BindGroupEntry> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
            .collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(&self.label),
            layout: &self.bindings,
            entries: &entries,
        })
    }
}

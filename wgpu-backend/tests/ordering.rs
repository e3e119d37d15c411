//! Both edges of a submission on the queue: nothing is written before earlier work of the caller's has read the
//! target, and later work sees every byte. The negative control shows that the test can fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use isopel_conformance::backends::on_cpu;
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::{CpuSignal, HostBuffer, HostTarget};
use isopel_core::{Backend, DecodeOptions, Fence, Job};
use isopel_wgpu::wgpu::{self, BufferBindingType, ShaderStages};
use isopel_wgpu::{BufferTarget, WgpuAfter, WgpuBackend, WgpuTarget};

const ITERATIONS: usize = 10;
const OLD: u8 = 7;
/// How long the caller's own work keeps the queue busy.
const BUSY: Duration = Duration::from_millis(50);

/// One of the 32 steps of each round. Lavapipe leaves every loop after 65535 rounds, so the rounds are long.
const STEP: &str = "value = value * 1664525u + 1013904223u + (value >> 7u);";

/// `spend` takes long; `add`, which has to wait for it since both write `gate`, sums bytes.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> gate: array<u32>;
@group(0) @binding(1) var<storage, read> data: array<u32>;
@group(0) @binding(2) var<storage, read_write> sum: atomic<u32>;

@compute @workgroup_size(64)
fn spend(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var value = gate[lane] + id.x;
    for (var round = 0u; round < 60000u; round++) {
        STEPS
    }
    if id.x == 0u || value == 0u {
        gate[lane] = value;
    }
}

@compute @workgroup_size(64)
fn add(@builtin(local_invocation_index) lane: u32) {
    var mine = 0u;
    for (var index = lane; index < arrayLength(&data); index += 64u) {
        let word = data[index];
        mine += (word & 255u) + ((word >> 8u) & 255u) + ((word >> 16u) & 255u) + (word >> 24u);
    }
    gate[lane] = mine;
    atomicAdd(&sum, mine);
}
";

/// The caller's side: work that reads the target, long after it was queued.
struct Caller {
    backend: &'static WgpuBackend,
    spend: wgpu::ComputePipeline,
    add: wgpu::ComputePipeline,
    bindings: wgpu::BindGroupLayout,
    gate: wgpu::Buffer,
    /// Workgroups of `spend`.
    groups: u32,
    jpeg: Arc<[u8]>,
    pixels: Vec<u8>,
}

impl Caller {
    fn new(backend: &'static WgpuBackend) -> Self {
        let device = backend.device();
        let source = wgpu::ShaderSource::Wgsl(SHADER.replace("STEPS", &STEP.repeat(32)).into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let entries = [false, true, false].map(|read_only| wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        });
        let entries: Vec<_> =
            (0..).zip(entries).map(|(binding, entry)| wgpu::BindGroupLayoutEntry { binding, ..entry }).collect();
        let bindings =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        let [spend, add] = ["spend", "add"].map(|name| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        let jpeg: Arc<[u8]> = corpus::hazard("roi-422.jpg").unwrap().into();
        let pixels = on_cpu(&jpeg, &DecodeOptions::default()).unwrap().pixels;
        assert!(pixels.len().is_multiple_of(4));
        let gate = gpu::buffer(device, &[0; 64 * 4]);
        let mut caller = Caller { backend, spend, add, bindings, gate, groups: 1, jpeg, pixels };
        caller.calibrate();
        caller
    }

    /// Finds how many workgroups keep the device busy for long enough.
    fn calibrate(&mut self) {
        let (data, sum) = (self.old_buffer(), self.zero());
        let run = |caller: &Caller| {
            let started = Instant::now();
            caller.submit(|encoder| caller.record_spend_and_add(encoder, &data, &sum));
            caller.finish();
            started.elapsed()
        };
        // The first time, drivers compile the shaders.
        run(self);
        while run(self) < BUSY {
            self.groups *= 2;
            assert!(self.groups < 1 << 16, "nothing keeps this device busy for {BUSY:?}");
        }
        println!("{} workgroups take {BUSY:?} or more", self.groups);
    }

    fn finish(&self) {
        self.backend.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }

    fn submit(&self, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
        let mut encoder = self.backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        record(&mut encoder);
        self.backend.queue().submit([encoder.finish()]);
    }

    fn old_buffer(&self) -> wgpu::Buffer {
        gpu::buffer(self.backend.device(), &vec![OLD; self.pixels.len()])
    }

    fn zero(&self) -> wgpu::Buffer {
        gpu::buffer(self.backend.device(), &[0; 4])
    }

    /// A long pass, then one that sums the bytes of `data`.
    fn record_spend_and_add(&self, encoder: &mut wgpu::CommandEncoder, data: &wgpu::Buffer, sum: &wgpu::Buffer) {
        for pipeline in [&self.spend, &self.add] {
            self.record(encoder, pipeline, data, sum);
        }
    }

    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &wgpu::ComputePipeline,
        data: &wgpu::Buffer,
        sum: &wgpu::Buffer,
    ) {
        let entries: Vec<_> = (0..)
            .zip([&self.gate, data, sum])
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = self.backend.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.bindings,
            entries: &entries,
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        let groups = if *pipeline == self.spend { self.groups } else { 1 };
        pass.dispatch_workgroups(groups, 1, 1);
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Vec<u8> {
        gpu::read(self.backend.device(), self.backend.queue(), buffer)
    }

    fn read_sum(&self, sum: &wgpu::Buffer) -> u64 {
        u32::from_le_bytes(self.read(sum).try_into().unwrap()).into()
    }

    fn old_sum(&self) -> u64 {
        u64::from(OLD) * self.pixels.len() as u64
    }

    fn new_sum(&self) -> u64 {
        self.pixels.iter().map(|&byte| u64::from(byte)).sum()
    }

    fn jobs(&self, data: &wgpu::Buffer) -> Vec<Job<WgpuTarget>> {
        let target = WgpuTarget::Buffer(BufferTarget::packed(data.clone()));
        vec![Job { jpeg: self.jpeg.clone(), options: DecodeOptions::default(), target }]
    }
}

/// One for all tests, one test at a time: how long its work takes was measured on an idle queue.
fn caller() -> Option<MutexGuard<'static, Caller>> {
    static CALLER: OnceLock<Option<Mutex<Caller>>> = OnceLock::new();
    let caller = CALLER.get_or_init(|| gpu::shared_or_explain().map(|backend| Mutex::new(Caller::new(backend))));
    caller.as_ref().map(|caller| caller.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

#[test]
fn earlier_work_reads_the_old_bytes_and_later_work_the_new_ones() {
    let Some(caller) = caller() else { return };
    assert_ne!(caller.old_sum(), caller.new_sum());
    let mut raced = 0;
    for iteration in 0..ITERATIONS {
        let data = caller.old_buffer();
        let (before, after) = (caller.zero(), caller.zero());
        caller.submit(|encoder| caller.record_spend_and_add(encoder, &data, &before));
        let is_read = Arc::new(AtomicBool::new(false));
        caller.backend.queue().on_submitted_work_done({
            let is_read = is_read.clone();
            move || is_read.store(true, Ordering::Relaxed)
        });
        caller.backend.device().poll(wgpu::PollType::Poll).unwrap();
        raced += usize::from(!is_read.load(Ordering::Relaxed));
        // Some drivers return from this only when the work before it is done.
        let submission = caller.backend.submit(caller.jobs(&data), WgpuAfter::Queue);
        // Without waiting for the fence: the queue keeps the after edge as well.
        caller.submit(|encoder| caller.record(encoder, &caller.add, &data, &after));
        submission.fence().wait();
        assert!(submission.fence().poll());
        assert!(submission.wait()[0].result.is_ok());
        assert!(caller.read(&data) == caller.pixels, "iteration {iteration}: pixels");
        assert_eq!(caller.read_sum(&before), caller.old_sum(), "iteration {iteration}: the sum before");
        assert_eq!(caller.read_sum(&after), caller.new_sum(), "iteration {iteration}: the sum after");
    }
    // If the caller's work had been done at once, this would have shown nothing.
    assert!(raced >= ITERATIONS * 9 / 10, "the reader was still at work in {raced} of {ITERATIONS}");
}

/// The negative control: in the other order the sums are wrong, each of them.
#[test]
fn a_decode_ahead_of_the_reader_corrupts_its_sum() {
    let Some(caller) = caller() else { return };
    for iteration in 0..ITERATIONS {
        let (data, sum) = (caller.old_buffer(), caller.zero());
        let submission = caller.backend.submit(caller.jobs(&data), WgpuAfter::Queue);
        caller.submit(|encoder| caller.record_spend_and_add(encoder, &data, &sum));
        assert!(submission.wait()[0].result.is_ok());
        assert_ne!(caller.read_sum(&sum), caller.old_sum(), "iteration {iteration}: the test above proves nothing");
    }
}

#[test]
fn the_callers_encoder_keeps_the_order_of_its_passes() {
    let Some(caller) = caller() else { return };
    for iteration in 0..ITERATIONS {
        let data = caller.old_buffer();
        let (before, after) = (caller.zero(), caller.zero());
        caller.submit(|encoder| {
            caller.record_spend_and_add(encoder, &data, &before);
            let outcomes = caller.backend.encode_into(encoder, caller.jobs(&data));
            assert!(outcomes[0].result.is_ok());
            caller.record_spend_and_add(encoder, &data, &after);
        });
        assert_eq!(caller.read_sum(&before), caller.old_sum(), "iteration {iteration}: the sum before");
        assert_eq!(caller.read_sum(&after), caller.new_sum(), "iteration {iteration}: the sum after");
        assert!(caller.read(&data) == caller.pixels, "iteration {iteration}: pixels");
    }
}

/// Encoders may be submitted late, in another order, and after submissions that use the backend's own buffers.
#[test]
fn encoders_that_are_submitted_late_hold_their_own_decodes() {
    let Some(caller) = caller() else { return };
    let other: Arc<[u8]> = corpus::hazard("container-base-420.jpg").unwrap().into();
    let other_pixels = on_cpu(&other, &DecodeOptions::default()).unwrap().pixels;
    let buffers = [caller.old_buffer(), caller.old_buffer()];
    let mut commands = Vec::new();
    for (jpeg, buffer) in [&caller.jpeg, &other].into_iter().zip(&buffers) {
        let mut encoder = caller.backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let target = WgpuTarget::Buffer(BufferTarget::packed(buffer.clone()));
        let job = Job { jpeg: jpeg.clone(), options: DecodeOptions::default(), target };
        assert!(caller.backend.encode_into(&mut encoder, vec![job])[0].result.is_ok());
        commands.push(encoder.finish());
    }
    for _ in 0..5 {
        assert!(caller.backend.decode(&other, &DecodeOptions::default()).unwrap().pixels == other_pixels);
    }
    commands.reverse();
    caller.backend.queue().submit(commands);
    assert!(caller.read(&buffers[0]) == caller.pixels);
    assert!(caller.read(&buffers[1])[..other_pixels.len()] == other_pixels);
}

/// The after edge on the host: once the fence is signalled, host memory holds the pixels.
#[test]
fn whoever_waits_for_the_fence_reads_the_pixels() {
    let Some(caller) = caller() else { return };
    for iteration in 0..ITERATIONS {
        let (data, sum) = (caller.old_buffer(), caller.zero());
        caller.submit(|encoder| caller.record_spend_and_add(encoder, &data, &sum));
        let host = HostBuffer::new(vec![OLD; caller.pixels.len()]);
        let target = WgpuTarget::Host(HostTarget::packed(host.clone()));
        let job = Job { jpeg: caller.jpeg.clone(), options: DecodeOptions::default(), target };
        let submission = caller.backend.submit(vec![job], WgpuAfter::Queue);
        if iteration.is_multiple_of(2) {
            submission.fence().wait();
        } else {
            while !submission.fence().wait_timeout(Duration::from_millis(5)) {}
        }
        assert!(*host.lock() == caller.pixels, "iteration {iteration}");
    }
}

/// Work outside the queue: the host's fences are waited for before anything is queued.
#[test]
fn fences_of_the_host_come_first() {
    let Some(caller) = caller() else { return };
    let data = caller.old_buffer();
    let (signals, fences): (Vec<_>, Vec<_>) = (0..3).map(|_| CpuSignal::new()).unzip();
    thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            let submission = caller.backend.submit(caller.jobs(&data), WgpuAfter::Host(fences));
            submission.wait().remove(0).result
        });
        for signal in signals {
            thread::sleep(Duration::from_millis(20));
            assert!(caller.read(&data).iter().all(|&byte| byte == OLD));
            signal.signal();
        }
        assert!(submitter.join().unwrap().is_ok());
    });
    assert!(caller.read(&data) == caller.pixels);
}

/// Dropping a submission neither cancels the work nor frees memory that it writes.
#[test]
fn a_dropped_submission_still_writes_its_pixels() {
    let Some(caller) = caller() else { return };
    let data = caller.old_buffer();
    let submission = caller.backend.submit(caller.jobs(&data), WgpuAfter::Queue);
    let fence = submission.fence().clone();
    drop(submission);
    fence.wait();
    assert!(caller.read(&data) == caller.pixels);
}

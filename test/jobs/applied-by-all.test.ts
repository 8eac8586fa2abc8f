import { describe, expect, it } from 'vitest';
import type { AppliedEnhancements } from '../../src/domain/job.ts';
import { appliedByAll } from '../../src/jobs/applied-by-all.ts';

const planned = 'requested; only faces that are found are restored';

const piece = (device: string, faces: number, reason = planned): AppliedEnhancements => ({
  denoise: 0.2,
  sharpen: 0,
  face_restoration: faces,
  adaptive_contrast: 0,
  model: 'fast',
  device,
  plan: [
    { stage: 'denoise', strength: 0.2, reason: 'the source has noise' },
    { stage: 'face_restoration', strength: 1, reason },
  ],
});

describe('what was applied to all pieces of a video', () => {
  it('names each device once, and the faces of any piece', () => {
    const applied = appliedByAll([piece('cuda:0 (A)', 0), piece('cuda:0 (B)', 1), piece('cuda:0 (A)', 0)]);
    expect(applied).toEqual({ ...piece('cuda:0 (A), cuda:0 (B)', 1) });
  });

  it('says why one of the workers ran a network on its CPU', () => {
    const why = `${planned}; their network runs on the CPU: There is no engine of the model “faces”.`;
    const applied = appliedByAll([piece('cuda:0 (A)', 1), piece('cuda:0 (B)', 1, why)]);
    expect(applied?.plan.map(({ reason }) => reason)).toEqual(['the source has noise', why]);
  });

  it('is null without pieces', () => {
    expect(appliedByAll([])).toBeNull();
  });
});

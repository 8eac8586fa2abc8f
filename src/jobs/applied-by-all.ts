/** What was applied to a video whose pieces were made apart. */
import type { AppliedEnhancements, PlannedStage } from '../domain/job.ts';

/**
 * The plan is the same for all, but the reason of a stage may go on with what one worker found out: why a network ran on its CPU. Faces may
 * be in some pieces only.
 */
export function appliedByAll(all: readonly AppliedEnhancements[]): AppliedEnhancements | null {
  const [first] = all;
  if (first === undefined) return null;
  const devices = [...new Set(all.map(({ device }) => device))];
  const plan = first.plan.map((stage) => ({ ...stage, reason: longestReason(all, stage) }));
  return { ...first, plan, face_restoration: Math.max(...all.map((each) => each.face_restoration)), device: devices.join(', ') };
}

function longestReason(all: readonly AppliedEnhancements[], { stage, reason }: PlannedStage): string {
  const reasons = all.flatMap(({ plan }) => plan.filter((other) => other.stage === stage).map((other) => other.reason));
  return reasons.reduce((longest, other) => (other.length > longest.length ? other : longest), reason);
}

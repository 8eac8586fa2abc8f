/** Events that the workers of bench-fleet print. */
export interface DeviceEvent {
  kind: 'ready' | 'begun' | 'ended' | 'joined';
  /** `job_…` */
  job: string;
  /** null: the whole video */
  segment: number | null;
  /** Unix time, ms */
  at: number;
}

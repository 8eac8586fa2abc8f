/** Colour and label of each delivery state. */
import type { DeliveryState } from '../api/account.ts';
import type { Tone } from '../ui/feedback.tsx';

export const deliveryStates: Record<DeliveryState, { tone: Tone; text: string }> = {
  pending: { tone: 'info', text: 'Pending' },
  delivered: { tone: 'good', text: 'Delivered' },
  dead: { tone: 'bad', text: 'Given up' },
  stopped: { tone: 'plain', text: 'Stopped' },
};

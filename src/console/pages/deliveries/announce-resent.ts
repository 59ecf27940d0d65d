import { showCaveat, showDone } from '../../parts/toast.tsx';

type Switches = { isActive: boolean; isPaused: boolean };

/** Tells the user what will happen to a resent delivery, which depends on its destination. */
export function announceResent(delivery: { webhook?: Switches | null; connector?: Switches | null }): void {
  const kind = delivery.webhook ? 'webhook' : 'connector';
  const { isActive = true, isPaused = false } = delivery.webhook ?? delivery.connector ?? {};
  if (!isActive) {
    showCaveat('The delivery will be skipped', `The ${kind} is disabled. Enable it, then resend the delivery.`);
  } else if (isPaused) {
    showCaveat('The delivery is held', `The ${kind} is paused. The delivery will be sent when you resume the ${kind}.`);
  } else {
    showDone('Delivery queued');
  }
}

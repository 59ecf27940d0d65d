/**
 * Lets a loop sleep until it has something to do. Its timers don't keep the process running.
 *
 * @param farthest alarms more than this many milliseconds away are ignored, because the loop polls before then.
 */
export function createWakeSignal(farthest = Number.POSITIVE_INFINITY) {
  let isSet = false;
  let isClosed = false;
  let wake: (() => void) | undefined;
  let alarm: { timer: NodeJS.Timeout; at: number } | undefined;

  /** Ends the wait. If nobody is waiting, the next wait ends immediately. */
  function notify(): void {
    isSet = true;
    wake?.();
  }

  return {
    notify,

    /** Ends the wait after this many milliseconds, unless an earlier call ends it sooner. */
    notifyIn(milliseconds: number): void {
      const at = performance.now() + milliseconds;
      if (isClosed || milliseconds > farthest || (alarm && alarm.at <= at)) return;
      clearTimeout(alarm?.timer);
      const ring = () => {
        alarm = undefined;
        notify();
      };
      alarm = { timer: setTimeout(ring, Math.ceil(milliseconds) + 1).unref(), at };
    },

    /** Resolves after a notification, or after this many milliseconds at the latest. */
    async wait(milliseconds: number): Promise<void> {
      if (!isSet && milliseconds > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds).unref();
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      wake = undefined;
      isSet = false;
    },

    /** Ends the wait and cancels the alarm. */
    close(): void {
      isClosed = true;
      clearTimeout(alarm?.timer);
      notify();
    },
  };
}

export type WakeSignal = ReturnType<typeof createWakeSignal>;

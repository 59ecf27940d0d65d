/** Lets one loop sleep until somebody has something for it. */
export function createWakeSignal() {
  let isSet = false;
  let wake: (() => void) | undefined;

  return {
    /** Ends the wait; remembered when nobody waits. */
    notify(): void {
      isSet = true;
      wake?.();
    },

    /** Resolves after a notification, or at the latest after so many milliseconds. */
    async wait(milliseconds: number): Promise<void> {
      if (!isSet && milliseconds > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, milliseconds);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      wake = undefined;
      isSet = false;
    },
  };
}

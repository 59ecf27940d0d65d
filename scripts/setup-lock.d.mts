/** See `setup-lock.mjs`. */
export function acquireLock(
  folder: string,
  onWait: (pid: number) => void,
): Promise<{ note(pid: number): void; release(): void }>;

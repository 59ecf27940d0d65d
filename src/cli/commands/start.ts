import type { Command } from 'commander';
import { addExamples } from '../examples.ts';

const CHECK_MILLISECONDS = 500;

export function addStart(program: Command): void {
  addExamples(program.command('start'), 'tollgate start')
    .description('start the service; without settings, it runs its own database and sandbox, with data in .data')
    .action(async () => {
      if (process.env.npm_lifecycle_event) stopWithParent();
      // Loads the service, and runs it until a signal ends this process.
      await import('../../main.ts');
    });
}

/**
 * npm runs programs in a shell, and many shells exit on SIGTERM without passing it on. The program then gets a new
 * parent process.
 */
function stopWithParent(): void {
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, CHECK_MILLISECONDS).unref();
}

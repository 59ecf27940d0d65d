import type { Command } from 'commander';
import { addExamples } from '../examples.ts';
import { print, printJson } from '../output.ts';

const WHERE = 'run this where the service runs, with the same environment';

/** Stops everything that a service sends. */
export function addHold(program: Command): void {
  addExamples(program.command('hold'), 'tollgate hold')
    .description(`send nothing: no deliveries, no payments, and no notices; ${WHERE}`)
    .option('--json', 'print one JSON document')
    .action(async ({ json }: { json?: true }) => {
      // Imported on demand, so that other commands don't load the database's client.
      const { holdInstallation } = await import('../installation.ts');
      await holdInstallation(process.env);
      if (json) printJson({ isOnHold: true });
      else print('On hold. Deliveries, payments, and notices wait until you run `tollgate adopt`.');
    });
}

/** Lets a service send again, after `hold` or on a restored copy. */
export function addAdopt(program: Command): void {
  addExamples(program.command('adopt'), 'tollgate adopt', 'tollgate adopt --skip-older-deliveries')
    .description(`end a hold, for example, after restoring a backup; ${WHERE}`)
    .option('--skip-older-deliveries', 'don’t send the deliveries, replays, and notices that are waiting')
    .option('--json', 'print one JSON document')
    .action(async ({ json, skipOlderDeliveries = false }: { json?: true; skipOlderDeliveries?: boolean }) => {
      const { adoptInstallation } = await import('../installation.ts');
      const { reason, skipped } = await adoptInstallation(process.env, { skipsOlder: skipOlderDeliveries });
      if (json) return printJson({ isOnHold: false, wasOnHold: reason ?? null, skippedDeliveries: skipped });
      if (!reason) return print('The installation isn’t on hold. Nothing was changed.');
      print(`Adopted. ${skipOlderDeliveries ? `Skipped ${skipped} deliveries.` : 'Waiting deliveries will be sent.'}`);
    });
}

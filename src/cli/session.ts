import type { Command } from 'commander';
import { CliProjectsDocument } from '../generated/cli-documents.ts';
import { Failure } from './failure.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';

export type GlobalOptions = { url: string; key?: string; token?: string; project?: string; json?: boolean };

/** What a command that talks to the service works with. */
export type Session = {
  client: ServiceClient;
  credential: string;
  url: string;
  /** Ends what runs: Ctrl-C, or a request to terminate. */
  signal: AbortSignal;
  isJson: boolean;
  /** The project that was named, or else the only one there is. @throws Failure naming those to choose from. */
  projectId(): Promise<string>;
};

/** Adds the options of every command that talks to the service. */
export function addServiceOptions(command: Command): Command {
  return command
    .addOption(
      command
        .createOption('--url <url>', 'address of the service')
        .env('TOLLGATE_URL')
        .default('http://localhost:4000'),
    )
    .addOption(command.createOption('--key <key>', 'API key; better in the environment').env('TOLLGATE_API_KEY'))
    .addOption(command.createOption('--token <token>', 'user token, in place of a key').env('TOLLGATE_TOKEN'))
    .addOption(command.createOption('--project <id>', 'default: the only one there is').env('TOLLGATE_PROJECT'))
    .option('--json', 'one JSON value a line, for programs');
}

/** @throws Failure when there is no credential, or the address is none. */
export function openSession(command: Command): Session {
  const options = command.opts<GlobalOptions>();
  // What was given by hand counts more than what lies in the environment.
  const isTokenGiven = command.getOptionValueSource('token') === 'cli';
  const credential = isTokenGiven ? options.token : (options.key ?? options.token);
  if (!credential) {
    throw new Failure(
      'usage',
      'There is no credential. Set TOLLGATE_API_KEY to an API key, or, in development, ' +
        'TOLLGATE_TOKEN="$(npx tollgate token)".',
    );
  }
  if (!/^https?:$/.test(URL.parse(options.url)?.protocol ?? '')) {
    throw new Failure('usage', `--url ${options.url} is not an http(s) URL, such as https://pay.example.com.`);
  }
  const client = createServiceClient({ url: options.url, credential });
  const signal = interruption();

  return {
    client,
    credential,
    url: options.url,
    signal,
    isJson: options.json === true,
    async projectId() {
      if (options.project) return options.project;
      const { projects } = await client.run(CliProjectsDocument, {}, signal);
      const { nodes, pageInfo } = projects!;
      if (nodes.length === 1) return nodes[0]!.id;
      if (nodes.length === 0) throw new Failure('refused', 'There is no project yet. Create one first.');
      const names = nodes.map(({ id, name }) => `\n  ${id}  ${name}`).join('');
      const more = pageInfo.hasNextPage ? '\n  …' : '';
      throw new Failure(
        'usage',
        `There are several projects. Name one with --project or TOLLGATE_PROJECT:${names}${more}`,
      );
    },
  };
}

/** A project that was asked for. @throws Failure when there is none with that id, or not for this credential. */
export function foundProject<Project>(project: Project | null, projectId: string): Project {
  if (project === null) throw new Failure('refused', `There is no project ${projectId} that you may see.`);
  return project;
}

/** Aborted by the first Ctrl-C or SIGTERM; the second ends the process at once. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

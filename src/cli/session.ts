import type { Command } from 'commander';
import { Tollgate } from '../../packages/sdk/src/index.ts';
import { CliProjectsDocument, CliViewerDocument } from '../generated/cli-documents.ts';
import { HOW_TO_RUN } from '../how-to-run.ts';
import { nameOfType, typeOfId } from '../ids.ts';
import { Failure } from './failure.ts';
import { requestAs } from './http.ts';
import { createServiceClient, type ServiceClient } from './service-client.ts';
import { noteIfSlow, waitingFor } from './slow.ts';

type GlobalOptions = { url: string; key?: string; token?: string; project?: string; json?: boolean };

/** Shared by all commands that talk to the service. */
export type Session = {
  client: ServiceClient;
  /** The SDK. Its errors have to go through `failureOf`. */
  tollgate: Tollgate;
  credential: string;
  url: string;
  /** Aborted by Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  isJson: boolean;
  /** The given project or, by default, the user's only one. @throws Failure if there is no project or more than one. */
  projectId(): Promise<string>;
};

/**
 * Adds the options shared by all commands that talk to the service.
 *
 * @param json what --json prints, or false for a command with its own format
 */
export function addServiceOptions(
  command: Command,
  { json = 'print one JSON document' }: { json?: string | false } = {},
): Command {
  command
    .addOption(
      command.createOption('--url <url>', 'URL of the service').env('TOLLGATE_URL').default('http://localhost:4000'),
    )
    .addOption(command.createOption('--key <key>', 'API key (prefer the environment variable)').env('TOLLGATE_API_KEY'))
    .addOption(command.createOption('--token <token>', 'user token, instead of an API key').env('TOLLGATE_TOKEN'))
    .addOption(
      command.createOption('--project <id>', 'project ID (default: your only project)').env('TOLLGATE_PROJECT'),
    );
  return json === false ? command : command.option('--json', json);
}

/** As a part of a URL's path, a text like this would name another path. */
const NO_SEGMENT = /^\.{1,2}$|\//;

/** @throws Failure if there is no credential, or the URL or the project ID is invalid. */
export function openSession(command: Command): Session {
  const options = command.opts<GlobalOptions>();
  // Options take precedence over the environment.
  const isTokenGiven = command.getOptionValueSource('token') === 'cli';
  const credential = isTokenGiven ? options.token : (options.key ?? options.token);
  if (!credential) {
    throw new Failure(
      'usage',
      'Missing credential. Set TOLLGATE_API_KEY to an API key or, in development, ' +
        `TOLLGATE_TOKEN="$(${HOW_TO_RUN.tollgate} token)".`,
    );
  }
  if (!/^https?:$/.test(URL.parse(options.url)?.protocol ?? '')) {
    throw new Failure('usage', `--url must be an http(s) URL such as https://pay.example.com, not ${options.url}.`);
  }
  if (options.project !== undefined && NO_SEGMENT.test(options.project)) {
    throw new Failure('usage', `--project must be a project ID such as proj_…, not "${options.project}".`);
  }
  const client = createServiceClient({ url: options.url, credential });
  const send = requestAs({ client: 'cli', userAgent: 'tollgate-cli' });
  const tollgate = new Tollgate({
    baseUrl: options.url,
    token: credential,
    maxRetries: 0,
    fetch: (target, init) => noteIfSlow(send(target, init), waitingFor(options.url)),
  });
  const signal = interruption();

  return {
    client,
    tollgate,
    credential,
    url: options.url,
    signal,
    isJson: options.json === true,
    async projectId() {
      if (options.project) return options.project;
      const { viewer } = await client.run(CliViewerDocument, {}, signal);
      // An API key might lack permission to read the project itself.
      if (viewer?.projectId) return viewer.projectId;
      const { projects } = await client.run(CliProjectsDocument, {}, signal);
      const { nodes, pageInfo } = projects!;
      if (nodes.length === 1) return nodes[0]!.id;
      if (nodes.length === 0) throw new Failure('refused', 'You have no projects yet. Create one first.');
      const names = nodes.map(({ id, name }) => `\n  ${id}  ${name}`).join('');
      const more = pageInfo.hasNextPage ? '\n  …' : '';
      throw new Failure(
        'usage',
        `You have several projects. Choose one with --project or TOLLGATE_PROJECT:${names}${more}`,
      );
    },
  };
}

/** @throws Failure if the project doesn't exist or the credential can't access it. */
export function foundProject<Project>(project: Project | null, projectId: string): Project {
  if (project === null) throw new Failure('notFound', `Project ${projectId} not found.`);
  return project;
}

/** The failure for an unknown ID. If the ID has another type's prefix, the message says so. */
export function itemNotFound(type: 'Delivery' | 'Webhook', id: string): Failure {
  const other = typeOfId(id);
  const what =
    other && other !== type ? `${id} is the ID of ${nameOfType(other)}, not of ${nameOfType(type)}.` : undefined;
  return new Failure('notFound', what ?? `${type} ${id} not found.`);
}

/** Aborted by the first Ctrl-C or SIGTERM. The second one ends the process immediately. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

import { afterAll, beforeAll } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject } from '../support/resources.ts';
import { type ConsolePage, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

/** What the tests for the destination pages share: a receiver for webhooks, and a user. */
export type DestinationStage = {
  receiver: Receiver;
  alice: TestUser;
  /** The API path of the project that was opened last. */
  base: string;
  /**
   * Opens a page of a new project, for example, `/webhooks`, as its owner.
   *
   * @param prepare called with `base` before the page opens.
   */
  open(path: string, prepare?: (base: string) => Promise<unknown>): Promise<ConsolePage>;
};

/** Opens the stage before the tests of the current `describe` block, and closes it after them. */
export function useDestinationStage(): DestinationStage {
  const stage = {} as DestinationStage;
  const app = useService('service');

  beforeAll(async () => {
    stage.receiver = await startReceiver();
    const alice = await app.user('alice');
    stage.alice = alice;
    stage.open = async (path, prepare) => {
      const { id, base } = await createProject(alice);
      stage.base = base;
      await prepare?.(base);
      const page = await openTab();
      await openSignedIn(page, app, alice.token, `/console/projects/${id}${path}`);
      return page;
    };
  });
  afterAll(() => stage.receiver?.close());
  return stage;
}

import type { z } from 'zod';
import type { Tollgate } from '../../../packages/sdk/src/index.ts';
import type { ServiceClient } from '../service-client.ts';
import type { Confirmations } from './confirmations.ts';

/** The permissions that tools need. The service has others, but no tool uses them. */
export type Permission = 'READ' | 'PAYMENTS' | 'DELIVERIES' | 'WRITE';

/** Any one of these lists of permissions is enough. */
type Requirement = readonly (readonly Permission[])[];

export const TO_READ: Requirement = [['READ']];
export const TO_READ_PAYMENTS: Requirement = [['READ'], ['PAYMENTS']];
export const TO_READ_DELIVERIES: Requirement = [['READ'], ['DELIVERIES']];
export const TO_SEND: Requirement = [['DELIVERIES']];
export const TO_CREATE: Requirement = [['WRITE']];
/** Tools that change something read it first. */
export const TO_CHANGE: Requirement = [['READ', 'WRITE']];

/** The user's reply, or `unsupported` if the client can't ask the user. */
export type Reply = 'confirmed' | 'declined' | 'unsupported';

type ToolContext = {
  /** Sends requests for the call's project. Each request names this tool. */
  tollgate: Tollgate;
  /** Runs GraphQL documents. For reading only, because its requests don't name the tool. */
  client: ServiceClient;
  projectId: string;
  confirmations: Confirmations;
  /** Asks the user through the client, if the client supports that. */
  ask(question: string): Promise<Reply>;
};

/** A tool's side effects. The client uses them to decide whether to ask the user before a call. */
type Effect =
  /** It changes nothing. */
  | 'none'
  /** It adds something. */
  | 'adds'
  /** It replaces values. Calling it again changes nothing further. */
  | 'replaces'
  /** It sends something to an outside service, or can't be undone. */
  | 'sends';

export type Tool = {
  name: string;
  title: string;
  description: string;
  requires: Requirement;
  effect: Effect;
  /** Whether it takes `projectId`. */
  isInProject: boolean;
  input: z.ZodRawShape;
  output: z.ZodObject;
  run(input: Record<string, unknown>, context: ToolContext): Promise<Record<string, unknown>>;
};

type ToolOf<Input extends z.ZodRawShape> = Omit<Tool, 'input' | 'run' | 'isInProject'> & {
  isInProject?: boolean;
  input: Input;
  run(input: z.infer<z.ZodObject<Input>>, context: ToolContext): Promise<Record<string, unknown>>;
};

/** Defines a tool. Names are spelled as in the REST API. */
export function defineTool<Input extends z.ZodRawShape>(tool: ToolOf<Input>): Tool {
  // The server checks the input against the schema before it calls `run`.
  return { isInProject: true, ...tool } as unknown as Tool;
}

/** Thrown when a tool refuses a call. The message tells the model what to do. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
}

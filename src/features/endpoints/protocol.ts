import { z } from 'zod';
import { invalidField } from '../../errors.ts';
import type { Endpoint, EndpointProtocol } from '../../generated/prisma/client.ts';
import { DEFAULT_METHODS } from './methods.ts';

/** The methods of the Streamable HTTP transport. */
const MCP_METHODS: readonly string[] = ['GET', 'POST', 'DELETE'];

export const protocolInput = z.enum(['HTTP', 'MCP'], 'Must be HTTP or MCP.');

/**
 * The methods to store for an endpoint. An MCP endpoint always has the methods of its transport.
 *
 * @param given the methods in the input, or undefined if it has none.
 * @param before the endpoint before the change, if there is one.
 * @returns undefined if the methods don't change.
 * @throws AppError `VALIDATION_FAILED` that names `methods`
 */
export function methodsFor(
  protocol: EndpointProtocol,
  given: string[] | undefined,
  before: Pick<Endpoint, 'protocol'> | undefined,
): string[] | undefined {
  if (protocol === 'MCP') {
    if (given && given.join() !== MCP_METHODS.join())
      throw invalidField('/methods', `Must be ${MCP_METHODS.join(', ')}, or left out, if \`protocol\` is MCP.`);
    return [...MCP_METHODS];
  }
  // Few paid APIs support DELETE.
  const isNew = before === undefined || before.protocol === 'MCP';
  return given ?? (isNew ? [...DEFAULT_METHODS] : undefined);
}

/**
 * Checks that an endpoint's payments can be settled in this order. A tool call that fails costs nothing, so the gateway
 * has to read the result before it settles.
 *
 * @throws AppError `VALIDATION_FAILED` that names `settlement`, even if only the protocol has changed.
 */
export function checkProtocol({ protocol, settlement }: Pick<Endpoint, 'protocol' | 'settlement'>): void {
  if (protocol === 'MCP' && settlement !== 'AFTER_RESPONSE')
    throw invalidField('/settlement', 'Must be AFTER_RESPONSE if `protocol` is MCP.');
}

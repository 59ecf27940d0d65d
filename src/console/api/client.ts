import { type Client, createClient as createSocketClient } from 'graphql-ws';
import { createContext, use } from 'react';
import { cacheExchange, fetchExchange, Client as HttpClient, makeOperation, mapExchange, type Operation } from 'urql';
import type { Session } from '../session/session.ts';
import { reloadFirstExchange } from './reload-first.ts';

export type Api = {
  http: HttpClient;
  socket: Client;
  /**
   * Sends an HTTP request with the user's credential to a path on this server. Its callers need the whole response, such
   * as a file's name or the rate limit, which the SDK doesn't return.
   */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Signs the user in again, for changes that require a recent sign-in. */
  signInAgain: Session['signInAgain'];
};

const CREDENTIAL_ENDED = 4403;

/** The signed-in user's connections to the API. When the server rejects the credential, the session ends. */
export function createApi(session: Session): Api {
  const credential = () => {
    const state = session.read();
    return state.status === 'signedIn' ? `Bearer ${state.token}` : '';
  };
  const http = new HttpClient({
    url: '/graphql',
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { authorization: credential() } }),
    exchanges: [
      mapExchange({
        onError(error) {
          if (error.graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED')) session.end();
        },
      }),
      reloadFirstExchange,
      cacheExchange,
      mapExchange({ onOperation: announce }),
      fetchExchange,
    ],
  });

  let sent = '';
  const socket = createSocketClient({
    url: () => `${window.location.origin.replace(/^http/, 'ws')}/graphql`,
    connectionParams: () => {
      sent = credential();
      return { authorization: sent };
    },
    // `follow` reconnects from its last cursor instead.
    retryAttempts: 0,
    keepAlive: 15_000,
    on: {
      closed(event) {
        // If the credential was renewed in the meantime, the next connection succeeds.
        if ((event as CloseEvent).code === CREDENTIAL_ENDED && sent === credential()) session.end();
      },
    },
  });
  const request = (path: string, init?: RequestInit) =>
    fetch(path, { ...init, headers: { ...init?.headers, authorization: credential() } });
  return { http, socket, request, signInAgain: session.signInAgain };
}

/** The server counts the console's own queries separately (docs/limits.md), so these requests identify themselves. */
export const CONSOLE_READ = { 'tollgate-client': 'console' };

function announce(operation: Operation): Operation {
  if (operation.kind !== 'query') return operation;
  const { fetchOptions } = operation.context;
  const given = typeof fetchOptions === 'function' ? fetchOptions() : fetchOptions;
  const headers = { ...(given?.headers as Record<string, string>), ...CONSOLE_READ };
  return makeOperation(operation.kind, operation, { ...operation.context, fetchOptions: { ...given, headers } });
}

export const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = use(ApiContext);
  if (!api) throw new Error('useApi() must be called in a signed-in session.');
  return api;
}

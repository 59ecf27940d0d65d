import { type Client, createClient as createSocketClient } from 'graphql-ws';
import { createContext, use } from 'react';
import { cacheExchange, fetchExchange, Client as HttpClient, mapExchange } from 'urql';
import type { Session } from '../session/session.ts';

export type Api = {
  http: HttpClient;
  socket: Client;
  /** Sends a plain HTTP request to a path on this server, with the credential. */
  request(path: string, init?: RequestInit): Promise<Response>;
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
      cacheExchange,
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
  return { http, socket, request };
}

export const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = use(ApiContext);
  if (!api) throw new Error('useApi() must be called in a signed-in session.');
  return api;
}

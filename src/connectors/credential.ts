import type { OauthApp, OauthVendor } from '../config/oauth-apps.ts';
import type { ConnectorRequest, ConnectorResponse } from './exchange.ts';

/**
 * How sellers connect an account with the operator's app (RFC 6749 §4.1). The config's `grant` is the refresh token.
 */
export type GrantDefinition<Config> = {
  vendor: OauthVendor;
  /** The vendor's name on the button. */
  title: string;
  /** Whether to get tokens with the grant. The seller's own credential takes precedence. */
  isUsed(config: Config): boolean;
  /** The URL where the seller authorizes access, including the scope and any vendor-specific parameters. */
  authorizationUrl(config: Config): string;
  /**
   * Builds the request that exchanges the code for a refresh token at the vendor's token endpoint.
   *
   * @param exchange `verifier` is for PKCE (RFC 7636).
   */
  buildExchange(
    config: Config,
    exchange: { app: OauthApp; code: string; verifier: string; redirectUri: string },
  ): ConnectorRequest;
};

/**
 * The result of a request to a vendor's token endpoint. `reason` is shown to the seller and must not contain secrets.
 */
export type TokenOutcome =
  | {
      kind: 'token';
      accessToken: string;
      lifetimeSeconds: number;
      /** Set if the vendor replaces the refresh token. The previous one may stop working. */
      refreshToken?: string;
      /** After this time, the vendor issues no more tokens until the seller connects again. */
      credentialLifetimeSeconds?: number;
    }
  | { kind: 'retry'; reason: string; afterSeconds?: number }
  /** The seller must connect again. */
  | { kind: 'pause'; reason: string };

/**
 * How a connector type gets access tokens from a longer-lived credential in its config. Like the rest of a
 * definition, it is pure. Requests are then built with a config whose `accessToken` is the current token.
 */
export type CredentialDefinition<Config> = {
  /** The config fields with the credential. Changing any of them invalidates the tokens issued for the old values. */
  fields: readonly string[];
  /** Whether the config has a longer-lived credential. Otherwise, it has only an access token. */
  isIn(config: Config): boolean;
  /**
   * Builds the request for a token.
   *
   * @param context `refreshToken` is the latest one that the vendor issued, if it replaced the one in the config. `app`
   *   is the operator's app, if the config's grant is used.
   */
  build(
    config: Config,
    context: { now: Date; refreshToken?: string; app?: OauthApp },
  ): Promise<ConnectorRequest> | ConnectorRequest;
  /**
   * What the response to a request for a token means.
   *
   * @param sent what was sent in addition to the config's credential, and must not be shown either: the same
   *   `refreshToken` and `app` as for `build`.
   */
  classify(
    response: ConnectorResponse,
    config: Config,
    sent?: { refreshToken?: string | undefined; app?: OauthApp | undefined },
  ): TokenOutcome;
  /** Set this if sellers can connect with the operator's app instead. */
  grant?: GrantDefinition<Config>;
};

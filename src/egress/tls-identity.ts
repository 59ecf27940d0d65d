/** What a client presents, and whom it trusts, in PEM format. */
export type TlsIdentity = {
  /** The same for the same contents. Connections are shared only within an identity. */
  id: string;
  certificate?: string;
  privateKey?: string;
  /** If set, the server's certificate must come from this authority. */
  certificateAuthority?: string;
};

/** The identity as options for `tls.connect`. */
export function tlsOptionsOf({ certificate, privateKey, certificateAuthority }: TlsIdentity) {
  return {
    ...(certificate !== undefined && { cert: certificate, key: privateKey }),
    ...(certificateAuthority !== undefined && { ca: certificateAuthority }),
  };
}

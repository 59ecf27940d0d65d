/** The certificate that a client presents, and the authority that it trusts, in PEM format. */
export type TlsIdentity = {
  /** Identities with the same contents have the same ID. Only requests with the same ID share connections. */
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

import { createPrivateKey, generateKeyPairSync } from 'node:crypto';

/** An RSA key of 4,104 bits, which is more than users can set. */
export const LARGE_KEY = `-----BEGIN PRIVATE KEY-----
MIIJRgIBADANBgkqhkiG9w0BAQEFAASCCTAwggksAgEAAoICAgDAE80LloiXdGGX
JERpw0m9gaC4UkbHxs0bFse+HlOIH5RDV2xgiIE/QV609KiKxmaqQkvEAScwO7ER
i+MjzI8aXusG3C8L7wLpRJbYs6ErMNT0PAgvS8qQayC4bvOff5wGFDqYTsIUD2to
SjaJ6VkFH7iQ0dtan/7YACJ9wSQzJTKWf/fycrwF1WC87DnMD6PNBp95afHpgz7Q
ff5gpoBz286nPsqSKJ6lfBi0BXkAiAyhy+xP4kXaYrfu9EHiAq0qF8quDM1vfS9Q
smqyZxKvcZPI4iULKI+adLfiZV+91YYQ5R6Jg27COgvixhBr1ma7yg5TpcqTBb5n
lH6WoI3Bj8wjcuorW3bglXdwnOcIYysCST5zOpgqHMJ3q1wsrMYEsgf2cvTK0vH1
2NINoQCYC8pEb2RUHsgaqPx6hhoKZje7JtQqius/WwshJNhvO1aKstRZ/D2p5Tb/
255Q5Ty8r+Fsq65BUUobfargcBTcAhG7Z5d+JrNhPuzukVVPwJvuqg7g3ldbfrZG
KTdM+Mx1yiOeqfuSAxJzkK+CWpLmnxC2MFBc1BsEIHmU5nBY476/UrWt4fFpLFCf
ksXXbi33QQlXjE7K85LkqaD7H72g5unToPz0Aa3m2knlWTlvAtw9pm48Ow3Esugx
q42ewDyDV0cN4ZpdAbOJOhjeV+skkCECAwEAAQKCAgElCNxY/uQk0bWMYxuGyfby
oWcYCxMnK2N6NOT7+RRxk2cuqdFVdpR3GhdU7DSAF3uNmf1KVE+WSvgb8j0wNp2j
/8ewua0fj6zfxdARBeeOMJrq4ZVRaztqJ6G2Nfxm1T/D40wd+FeO7x8uS1rjMfku
Vfyr/a6d9Wn5g2MjHKWqb+JmZtOrrWgn9smxe5m0SRKz8jI3ApC4jcwDfruYrpnn
XOsmT6LW1hqqvTf1I/X9/n1zB+LvTylZT334BqQaXBo/2rkDYKgOtlQ0asZMUjfl
2JAeZE4wrdgsd5NKBXJVo7E3GjpOWOd27yLCDZ72b+88h5vGEJozyWB6T8UtrVTP
x13fuPgOMXpqlrsVshTxWo+a3PDDN914gbL3YEAnIbfHhsqpIL+u6AVQocfvzu3/
gibYpFZshGZdbIsg1kxT/lqeFX78+dG5OdpWktZf5VSz7i6R9dmXwoE5u9BrNPli
oZGWIDjZ6fvBPN8noAOQ0YRFDkIWMuSOkLTZDKFv9ZbduB6O5AFOblFl0d/jLWlP
bhZPhssrCzWH9H05FaW38+vWnSCfu3Nwk8NhedyW9b5VhKZmBz3+S615PWh0iUhS
7JKx9qnZYlGJu2246j+dioj3QA9YZgheJZe+ij5B0ncK6ELU5bn04ebBRTgBRWnf
nCKbwuCiDVMpvmRhtLfpnk0CggEBDibcJ4kgsEmnguoPbbcT80NbHI32/oJfTXjz
FwDDy7XWbZ7HAc0N2VQdHPypsvAPWTfI09yaz66it3/lfFoKBlpSalKZI/iEbEcK
ESufcDHfYWIVogt9gnOZhgY5A/5zEu/K+jzlqArXEmtOL9sQ7JpOnngr/BwpK9Ze
4AsIpClRT/7e8tJ57n2LR+XXX0fEkx+ohrLNo1mldiSRvakLdqI57fHtSk+QR+B3
5XDI66OT/rHJ8r121A7D/TkGkei/Vxi2l6/SuN1j+OKBdrLMu9Pks/yX9xzz/J4H
9U6vIpUSTLaF+PPk+D1dY9wz7tKbugUkjNd1oL6iiWupQzxeaHUCggEBDZKZBKDe
tzfwTbiCAYFRJeoGXxtb/qU1o1H8FYDv53OjYQc6kO41iIU0C4GlsaVAtWa7dfK0
k7Rafk6fIO7rvevA/j7lRiJneTSr/51MbxavYegsKhwZSh+USAcKz06YE+lWK7pH
N8g+xOW4z5DQnjWGg6P/ybTF4N4No6K/bgjyWXbeQeujDmTm/8YPXFsrUavywJ+J
DW7DvZ7T7bdVLmHDDPIY+CNOTT28CJQ2bpsxGjUTdvGrAjyFaLuZua+MsMA+d+tf
AC/XfdQeydN625VeLGfW1FzJrgdu/5E5D91Ov0mHeoVQ9zQ5NOwiNKpfwELKLYbK
jQA0US6ztrvDc30CggEBA7jo82U4OeZFr0ONZ1heYP/4eRxGOU9lbeVAW26SEYT0
r8Sxp6Gd4Ook9jjnEe/euaLYqhE+jx3qIsX7QKgWNvGO9/Rd335AppJQ7Y9B0qrr
jJvWANdw3d02JnCAkrJc5kA4bXWTGo4vX+Lln+TJINK9lyUYvKlTkvpB3kBIt5U+
lAH/9nKyK67N8c1cxu0DoYcUNsnVGQA9a0PXKcHLCBtHjXSy63beBmneX3U5A/H0
vWtaKQT4unJfzr0vIzXLDkerz14p2QIyh4ZcczI4c7caUtU/y3nMG0gd48IcgsYf
GBpyRrcwJLNPWzLSXiD7YQR1Rq5tfChobCjrTooUcvkCggEBCGcgMQtfl1MchSGb
606ibLSsaSlJFSg3Qvu4858157diCOouyheQMQs2o4EKkibbHvORT36JaYCZHeWT
AxKoBJb2jvFlhLw8D4AalFBQR95lilnxLcjjp05RwR4LBTmFUZ5+aOgUu2ZP5hrL
BkaDwc8ljk50R+6RK5yOGSbjGT6Uu+qpw2odMwYpNWTrkaQn95Ja4gJjGVvf939j
eaKtK9/+n/8qkkVZbtyvkygfYu7VwYHmoRcRZnsNpT+v9pPGqI78ncWstTLpWM+A
mDdDsrqQ6TEIgcVIX2Pexn6kMzwySp89Lw9mhwVf/XHL44svaJpxDSqMMCtWOISP
YqxwXwkCggEBDiSA6UgbcRFzYeDHlkOJv9bIZrwJZIPT/kXJlNv8FRmieBo67m5W
IrMJHDyxpxQhaS5QuHrQfI3xGo4nkP3GVjQ/ue7iHnfFQPCY6Ec2huQ9RSHEb/rd
i+Q35dp7eHIABM6od/KFEtI1x7+l6Niw6UPTiiX1859H2malYxGsmVoz4HXuOCjm
Xm1uVQwPB0HpETJSSVyeyovqDlS5DZS1xgXOFJwLDB+KWnAkZRofzzXCG7qG3Y7Z
TMz9pAKXEZIDktEc1SRaDkAf5qXvBN6fflFR0wbUvnTHTsQwRlEIqXR5Gibajhpt
0lnonXLW4WnVPadt9rpAZDvQbkeM77BLePk=
-----END PRIVATE KEY-----
`;

/** A valid RSA key of 2,048 bits with a public exponent of as many bits, which is more than users can set. */
export const LARGE_EXPONENT_KEY = withLargeExponent();

function withLargeExponent(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ format: 'jwk' });
  const read = (text = '') => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  const order = (read(key.p) - 1n) * (read(key.q) - 1n);
  const exponent = (read(key.e) + order).toString(16);
  const bytes = Buffer.from(exponent.padStart(exponent.length + (exponent.length % 2), '0'), 'hex');
  const large = createPrivateKey({ format: 'jwk', key: { ...key, e: bytes.toString('base64url') } });
  return String(large.export({ format: 'pem', type: 'pkcs8' }));
}

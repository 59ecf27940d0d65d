/** Waits until a peer's server is listening. */
export async function opened(server) {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** Answers a request whose body is still being sent. */
import type { Request, Response } from 'express';

/** After a refusal the rest of the body is read and discarded for this long, so that the client sees the answer. */
const DRAIN_MS = 10_000;

/**
 * Closed at once, a connection on which the client still sends would be reset, and the answer lost. So only its sending
 * half is closed; what arrives is thrown away (RFC 9112, section 9.6).
 */
export function dropRest(req: Request, res: Response): void {
  if (req.readableEnded) return;
  if (!res.headersSent) res.set('connection', 'close');
  req.unpipe();
  req.resume();
  const { socket } = req;
  // Node.js calls it when the answer is sent.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), DRAIN_MS).unref();
    socket.on('close', () => clearTimeout(timer));
  };
}

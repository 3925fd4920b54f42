// Positions, computed by Netron's dagre: in a worker, so that the page stays responsive, or here if workers are refused.

const SMALL = 80; // boxes; below, a worker would cost more than it saves

const WORKER_END = `
const nestedLayout = ${nestedLayout};
const directedLayout = ${directedLayout};
self.addEventListener("message", ({ data }) => self.postMessage(directedLayout(dagre.layout, data)));`;

class Layouter {
  constructor() {
    this.direction = "auto";
    this.window = { width: 1, height: 1 };
    this.worker = null;
    this.stop = null;
  }

  // Called by grapher.Graph.layout, which hands over positions to be and waits for them.
  request(message) {
    this.cancel();
    const { direction, window } = this;
    message.layout = { nodesep: 22, ranksep: 24, edgesep: 14, direction, window };
    if (message.nodes.length < SMALL) {
      return Promise.resolve(this.here(message));
    }
    return new Promise((resolve) => {
      let worker;
      try {
        worker = this.start();
      } catch {
        resolve(this.here(message));
        return;
      }
      this.stop = () => resolve({ type: "cancel" });
      worker.onmessage = ({ data }) => {
        this.stop = null;
        resolve(data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.stop = null;
        this.worker = null;
        resolve(this.here(message));
      };
      worker.postMessage(message);
    });
  }

  here(message) {
    return directedLayout(globalThis.treadleLayout.layout, message);
  }

  start() {
    if (!this.worker) {
      // A page from a file may start no worker that is a module: what makes dagre one is left out.
      const dagre = document.getElementById("dagre").textContent.replace(/^export .*$/m, "");
      const place = URL.createObjectURL(new Blob([dagre, WORKER_END], { type: "text/javascript" }));
      this.worker = new Worker(place);
    }
    return this.worker;
  }

  cancel() {
    if (this.stop) {
      this.worker.terminate();
      this.worker = null;
      this.stop();
      this.stop = null;
    }
  }
}

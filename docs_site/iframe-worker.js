// The theme searches in a worker. Browsers refuse one to a page that is opened from a file: there, this class stands in for
// it and runs the same script in a hidden frame.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inner = this.frame.contentWindow;
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = inner.document.createElement("script");
    this.loaded = new Promise((resolve) => script.addEventListener("load", resolve));
    script.src = new URL(url, location);
    inner.document.body.append(script);
  }

  postMessage(data) {
    this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;

// Browsers start no Worker for a page opened from the disk (file:), and the search runs in one. There, this stands in
// for it: the worker's script runs in a hidden frame of the page. Material's offline plugin would otherwise have the
// reader's browser fetch such a stand-in from a third party; naming this file in mkdocs.yml keeps everything local.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.frame = frame
      this.scope = frame.contentWindow
      this.scope.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      this.scope.importScripts = async (...urls) => {
        for (const each of urls) await this.run(each)
      }
      this.ready = this.run(url)
    }

    run(url) {
      return new Promise((resolve, reject) => {
        const script = this.scope.document.createElement("script")
        script.src = new URL(url, location.href)
        script.onload = resolve
        script.onerror = () => reject(new Error(`cannot load ${script.src}`))
        this.scope.document.body.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}

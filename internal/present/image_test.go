package present

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"strings"
	"testing"
)

func TestImagesAreCheckedAndScaled(t *testing.T) {
	small := pngOf(t, drawing(8, 8))
	for _, c := range []struct {
		name, mime string
		in         Content
		dims       image.Point
		same       bool   // handed over byte for byte
		want       string // mime type
		long       int    // pixels
	}{
		{"bytes", "image/png", Content{Bytes: small}, image.Pt(8, 8), true, "image/png", 8},
		{"base64", "image/png", Content{Text: base64Of(small)}, image.Pt(8, 8), true, "image/png", 8},
		{"base64 in lines", "image/png", Content{Text: base64Of(small)[:20] + "\n" + base64Of(small)[20:] + "\r\n"}, image.Pt(8, 8), true, "image/png", 8},
		{"base64 without padding", "image/png", Content{Text: strings.TrimRight(base64Of(small), "=")}, image.Pt(8, 8), true, "image/png", 8},
		{"JPEG", "image/jpeg", Content{Bytes: jpegOf(t, drawing(20, 10))}, image.Pt(20, 10), true, "image/jpeg", 20},
		{"large plot", "image/png", Content{Bytes: pngOf(t, drawing(3000, 1000))}, image.Pt(3000, 1000), false, "image/png", MaxImageSide},
		{"large JPEG", "image/jpeg", Content{Bytes: jpegOf(t, drawing(1000, 2000))}, image.Pt(1000, 2000), false, "image/jpeg", MaxImageSide},
		{"many bytes", "image/png", Content{Bytes: pngOf(t, noise(700, 700))}, image.Pt(700, 700), false, "image/jpeg", 0},
		{"very wide", "image/png", Content{Bytes: pngOf(t, drawing(5000, 1))}, image.Pt(5000, 1), false, "image/png", MaxImageSide},
	} {
		img, dims, err := ReadImage(c.in, c.mime)
		if err != nil || dims != c.dims || img.MIME != c.want || len(img.Data) > MaxImageBytes {
			t.Errorf("%s: %v, %s of %d bytes, %v", c.name, dims, img.MIME, len(img.Data), err)
			continue
		}
		if raw, _ := imageBytes(c.in); bytes.Equal(raw, img.Data) != c.same {
			t.Errorf("%s: the same bytes: %v", c.name, !c.same)
		}
		_, again, err := ReadImage(Content{Bytes: img.Data}, img.MIME)
		if err != nil || c.long > 0 && max(again.X, again.Y) != c.long {
			t.Errorf("%s: handed over as %v, %v", c.name, again, err)
		}
	}
}

func TestBrokenImagesAreNone(t *testing.T) {
	whole := pngOf(t, drawing(40, 40))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	for name, in := range map[string]Content{
		"empty":          {},
		"not base64":     {Text: "not base64 !!"},
		"base64 of text": {Text: base64.StdEncoding.EncodeToString([]byte("hello"))},
		"cut off":        {Bytes: whole[:len(whole)/2]},
		"flipped":        {Bytes: flipped},
		"another format": {Bytes: jpegOf(t, drawing(8, 8))},
		"header only":    {Bytes: whole[:33]},
	} {
		if _, _, err := ReadImage(in, "image/png"); !errors.Is(err, ErrNotAnImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An image that claims a billion pixels is not decoded.
func TestImageBombIsNotDecoded(t *testing.T) {
	b := pngOf(t, drawing(8, 8))
	copy(b[16:], []byte{0, 0, 0x80, 0, 0, 0, 0x80, 0})
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	if _, dims, err := ReadImage(Content{Bytes: b}, "image/png"); !errors.Is(err, errTooManyPixels) || dims.X != 1<<15 {
		t.Errorf("%v, %v", dims, err)
	}
	r := Outputs([]Output{{Type: TypeDisplay, Data: map[string]Content{"image/png": {Bytes: b, BlobHash: "h"}}}}, Options{})
	if !strings.Contains(r.Text, "32768 × 32768, not shown: too large") || len(r.Links) != 1 {
		t.Errorf("told as %q", r.Text)
	}
}

func TestTransparencyBecomesWhite(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.Set(1, 0, color.NRGBA{255, 0, 0, 255})
	got := onWhite(img)
	if r, g, b, a := got.At(0, 0).RGBA(); r+g+b+a != 4*0xffff {
		t.Errorf("clear pixel became %v", got.At(0, 0))
	}
	if r, g, _, _ := got.At(1, 0).RGBA(); r != 0xffff || g != 0 {
		t.Errorf("red pixel became %v", got.At(1, 0))
	}
}

func FuzzImage(f *testing.F) {
	f.Add(pngOf(f, drawing(8, 8)), true)
	f.Add(jpegOf(f, drawing(8, 8)), false)
	f.Add([]byte(base64Of(pngOf(f, drawing(3, 3)))), true)
	f.Fuzz(func(t *testing.T, b []byte, isPNG bool) {
		mime := "image/jpeg"
		if isPNG {
			mime = "image/png"
		}
		for _, c := range []Content{{Bytes: b}, {Text: string(b)}} {
			img, dims, err := ReadImage(c, mime)
			if err == nil && (len(img.Data) > MaxImageBytes || dims.X <= 0 || dims.Y <= 0) {
				t.Errorf("%d bytes, %v", len(img.Data), dims)
			}
		}
	})
}

func BenchmarkLargePlot(b *testing.B) {
	c := Content{Bytes: pngOf(b, drawing(3000, 3000))}
	for b.Loop() {
		if _, _, err := ReadImage(c, "image/png"); err != nil {
			b.Fatal(err)
		}
	}
}

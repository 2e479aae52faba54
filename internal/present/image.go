package present

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
)

// Limits of images in a Result.
const (
	MaxImages     = 4
	MaxImageSide  = 1568      // pixels on the long side
	MaxImageBytes = 750 << 10 // so that base64 of it is at most 1 MB
	maxPixels     = 50e6      // that are decoded at all
	minSide       = 64        // below which an image is not scaled to save bytes
)

// Image is an image for the reader.
type Image struct {
	MIME string // image/png or image/jpeg
	Data []byte
}

// ErrNotAnImage is the error of data that cannot be decoded as its mime type says.
var ErrNotAnImage = errors.New("not a valid image")

// errTooManyPixels is the error of an image that would cost too much to decode.
var errTooManyPixels = errors.New("too many pixels")

// rasterMIMEs are the formats handed over as images, best first.
var rasterMIMEs = []string{"image/png", "image/jpeg"}

// rasterOf returns the format of an output that can be handed over as an image.
func rasterOf(data map[string]Content) (string, bool) {
	for _, m := range rasterMIMEs {
		if _, ok := data[m]; ok {
			return m, true
		}
	}
	return "", false
}

// imageBytes returns the bytes of an image, which may be base64 with line breaks.
func imageBytes(c Content) ([]byte, error) {
	if c.Bytes != nil {
		return c.Bytes, nil
	}
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, c.Text)
	b, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		if b, err = base64.RawStdEncoding.DecodeString(clean); err != nil {
			return nil, ErrNotAnImage
		}
	}
	return b, nil
}

// ReadImage checks an image by decoding it and returns it at a size fit for a
// reader: as it is if it is small enough, else scaled, and as JPEG if PNG would
// be too large. dims are those of the original. The error is ErrNotAnImage
// when it is none.
func ReadImage(c Content, mime string) (img Image, dims image.Point, err error) {
	data, err := imageBytes(c)
	if err != nil {
		return Image{}, image.Point{}, err
	}
	decodeConfig, decode := png.DecodeConfig, png.Decode
	if mime == "image/jpeg" {
		decodeConfig, decode = jpeg.DecodeConfig, jpeg.Decode
	}
	cfg, err := decodeConfig(bytes.NewReader(data))
	if err != nil || cfg.Width <= 0 || cfg.Height <= 0 {
		return Image{}, image.Point{}, ErrNotAnImage
	}
	dims = image.Pt(cfg.Width, cfg.Height)
	if float64(cfg.Width)*float64(cfg.Height) > maxPixels {
		return Image{}, dims, errTooManyPixels
	}
	src, err := decode(bytes.NewReader(data))
	if err != nil {
		return Image{}, dims, ErrNotAnImage
	}
	if max(dims.X, dims.Y) <= MaxImageSide && len(data) <= MaxImageBytes {
		return Image{MIME: mime, Data: data}, dims, nil
	}
	img, err = shrink(src, mime)
	return img, dims, err
}

// shrink scales an image to the limits and encodes it again.
func shrink(src image.Image, mime string) (Image, error) {
	side := MaxImageSide
	for {
		scaled := scale(src, side)
		if mime == "image/png" {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, scaled); err != nil {
				return Image{}, fmt.Errorf("encode image: %w", err)
			}
			if b.Len() <= MaxImageBytes {
				return Image{MIME: "image/png", Data: b.Bytes()}, nil
			}
		}
		for _, quality := range []int{85, 60} {
			var b bytes.Buffer
			if err := jpeg.Encode(&b, onWhite(scaled), &jpeg.Options{Quality: quality}); err != nil {
				return Image{}, fmt.Errorf("encode image: %w", err)
			}
			if b.Len() <= MaxImageBytes || side <= minSide {
				return Image{MIME: "image/jpeg", Data: b.Bytes()}, nil
			}
		}
		side = side * 2 / 3
	}
}

// scale returns src with its long side at most side pixels.
func scale(src image.Image, side int) image.Image {
	b := src.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= side {
		return src
	}
	dst := image.NewRGBA(image.Rect(0, 0, max(b.Dx()*side/long, 1), max(b.Dy()*side/long, 1)))
	draw.BiLinear.Scale(dst, dst.Bounds(), src, b, draw.Src, nil)
	return dst
}

// onWhite returns src without transparency, as on paper.
func onWhite(src image.Image) image.Image {
	if o, ok := src.(interface{ Opaque() bool }); ok && o.Opaque() {
		return src
	}
	dst := image.NewRGBA(src.Bounds())
	draw.Draw(dst, dst.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(dst, dst.Bounds(), src, src.Bounds().Min, draw.Over)
	return dst
}
